"""Whether `hub impact` names the files that people really changed together with a function.

    python bench/impact.py ~/src/structlog ~/src/rq --commits 20

Each folder is a git clone. For a commit that changed functions of a module and, in the same commit,
a test or a file that names one of the functions, the module's part of the commit is made alone, and
`hub impact` is asked about it. Printed are the share of the other files that it names, how many
files it names, and the seconds of an answer.
"""

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.changed_behavior import changed_nodes
from remora.code.syntax.definitions import FunctionNode


class Case(NamedTuple):
    """A commit, the module whose part of it is made, and the other files that it changed."""

    commit: str
    module: str
    others: frozenset[str]


class Result(NamedTuple):
    """The files that an answer named, and how long it took."""

    case: Case
    named: frozenset[str]
    seconds: float


def git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True).stdout


def content(root: Path, revision: str, path: str) -> bytes:
    return git(root, "show", f"{revision}:{path}")


def cases(root: Path) -> Iterator[Case]:
    """Yield the commits, newest first, that changed a function and a caller or test."""
    for commit in git(root, "log", "--no-merges", "--format=%h", "-n", "4000").decode().split():
        words = ("diff-tree", "-r", "--name-only", "--no-commit-id", "--diff-filter=M", commit)
        paths = git(root, *words, "--", "*.py").decode().splitlines()
        modules = [path for path in paths if not is_of_tests(path)]
        if not 1 <= len(modules) <= 4 or len(paths) > 8:
            continue
        for module in modules:
            try:
                sides = [ast.parse(content(root, side, module)) for side in (f"{commit}^", commit)]
            except SyntaxError:  # code of Python 2
                continue
            names = {
                node.name
                for node in changed_nodes(module, *sides)
                if isinstance(node.before, FunctionNode)
            }
            pattern = re.compile(rb"\b(" + "|".join(map(re.escape, names)).encode() + rb")\(")
            others = frozenset(
                path
                for path in paths
                if names and path != module and pattern.search(content(root, f"{commit}^", path))
            )
            if others:
                yield Case(commit, module, others)
                break


def ask(root: Path, case: Case, command: list[str], cache: str) -> Result:
    git(root, "checkout", "--quiet", "--force", f"{case.commit}^")
    (root / case.module).write_bytes(content(root, case.commit, case.module))
    begun = time.monotonic()
    words = [*command, "--json", "hub", "impact"]
    environ = {"PATH": "/usr/bin:/bin", "HOME": cache, "XDG_CACHE_HOME": cache}
    done = subprocess.run(words, cwd=root, env=environ, capture_output=True, check=False)
    seconds = time.monotonic() - begun
    answer = json.loads(done.stdout)
    rows = [*answer["misfits"], *answer["callers"], *answer["overrides"], *answer["texts"]]
    named = {row["place"].partition(":")[0] for row in rows}
    named |= {test.partition("::")[0] for test in answer["tests"]} | {*answer.get("also", ())}
    return Result(case, frozenset(named) - {case.module}, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=20, help="at most, of each clone")
    parser.add_argument("-v", action="store_true", help="print each commit with files not named")
    given = parser.parse_args()
    command = [str(Path(sys.executable).with_name("remora"))]
    results: list[Result] = []
    with TemporaryDirectory() as cache:
        for clone in given.clones:
            for _, case in zip(range(given.commits), cases(clone), strict=False):
                result = ask(clone, case, command, cache)
                results.append(result)
                if given.v and (missing := case.others - result.named):
                    print(clone.name, case.commit, case.module, "misses", *sorted(missing))
    whole = sum(result.case.others <= result.named for result in results)
    wanted = sum(len(result.case.others) for result in results)
    named = sum(len(result.case.others & result.named) for result in results)
    sizes = sorted(len(result.named) for result in results)
    print(f"commits {len(results)}: all files named in {whole}, {named} of {wanted} files")
    print(f"files named: median {statistics.median(sizes)}, largest {sizes[-1]}")
    print(f"seconds: median {statistics.median(result.seconds for result in results):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
