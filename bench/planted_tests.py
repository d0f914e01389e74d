"""How many bad tests `remora judge` finds, and how many good ones it calls bad.

    python bench/planted_tests.py bench/planted_tests/dev ~/src/argh ~/src/gita ...

The first folder has a YAML file for each package: bad tests that people planted (`planted`, each
with its `kind`, `file` and `code`), and the IDs of tests that the maintainers keep (`kept`). The
others are the packages' source distributions of that version, with their environment in `.venv`.
A planted test that names its author's home folder has @HOME@ for it. The planted tests of a package
are one change, and its kept tests are another one. What is said of each of them is printed.
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.org")


def git(tree: Path, *words: str) -> None:
    subprocess.run([*_GIT, *words], cwd=tree, check=True, capture_output=True)


def committed(package: Path, place: Path) -> Path:
    """Return a copy of a package as a repository with one commit."""
    tree = place / package.name
    shutil.copytree(package, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    (tree / ".gitignore").write_text(".venv\n__pycache__\n*.egg-info\n")
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "all")
    return tree


def spans(text: str) -> dict[str, range]:
    """Return the lines of the tests of a file by their names in pytest ids."""
    found: dict[str, range] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}::")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found[f"{prefix}{node.name}"] = range(first, (node.end_lineno or first) + 1)

    walk(ast.parse(text).body, "")
    return found


def plant(tree: Path, planted: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Append the planted tests to their files, and return them by their pytest ids."""
    found = {}
    for test in planted:
        file = tree / test["file"]
        code = textwrap.dedent(test["code"]).strip().replace("@HOME@", str(Path.home()))
        before = set(spans(file.read_text()))
        file.write_text(f"{file.read_text().rstrip()}\n\n\n{code}\n")
        new = [test for test in spans(file.read_text()) if test not in before]
        name = next(test for test in new if test.rpartition("::")[2].startswith("test"))
        found[f"{test['file']}::{name}"] = test
    return found


def remove(tree: Path, kept: list[str]) -> None:
    """Remove tests from their files, with a `pass` where a class would be empty."""
    for path in dict.fromkeys(test.partition("::")[0] for test in kept):
        file = tree / path
        lines = file.read_text().splitlines(keepends=True)
        where = spans(file.read_text())
        for test in kept:
            name = test.partition("::")[2]
            if test.startswith(f"{path}::") and name in where:
                first, last = where[name][0], where[name][-1]
                indent = " " * (len(lines[first - 1]) - len(lines[first - 1].lstrip()))
                end = f"{indent}pass\n" if "::" in name else "\n"
                lines[first - 1 : last] = [end, *[""] * (last - first)]
        file.write_text("".join(lines))


def judged(tree: Path, limit: int) -> tuple[dict[str, str], list[str], float]:
    """Return the remark on each test of the uncommitted change, what is unjudged, and the seconds."""
    remora = str(Path(sys.executable).with_name("remora"))
    start = time.monotonic()
    done = subprocess.run(
        [remora, "judge", "--json", "--seconds", str(limit)], cwd=tree, capture_output=True, text=True, check=False,
        env={**os.environ, "REMORA_GATES__TIME_S": "0"},
    )  # fmt: skip
    seconds = time.monotonic() - start
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{tree.name}: {done.stderr}")
    document = json.loads(done.stdout)
    found = {}
    for problem in document["problems"]:
        for name, lines in spans((tree / problem["path"]).read_text()).items():
            if problem["line"] in lines:
                found[f"{problem['path']}::{name}"] = problem["message"]
    return found, [f"{part['what']}: {part['why']}" for part in document["unjudged"]], seconds


def measure(
    described: dict[str, Any], package: Path, limit: int
) -> Iterator[tuple[str, bool, str]]:
    """Yield the kind of each test (`kept` for a good one), whether it is called bad, and a line."""
    with tempfile.TemporaryDirectory() as place:
        tree = committed(package, Path(place))
        planted = plant(tree, described["planted"])
        found, unjudged, seconds = judged(tree, limit)
        print(f"# {package.name}: {len(planted)} planted in {seconds:.0f} s", flush=True)
        for test, about in planted.items():
            why = next((line for line in unjudged if test in line), "")
            yield about["kind"], test in found, f"{test}: {found.get(test) or why}"
        git(tree, "checkout", "-q", ".")
        remove(tree, described["kept"])
        git(tree, "commit", "-qam", "without")
        git(tree, "checkout", "-q", "HEAD~1", "--", ".")
        git(tree, "reset", "-q")
        found, unjudged, seconds = judged(tree, limit)
        print(f"# {package.name}: {len(described['kept'])} kept in {seconds:.0f} s", flush=True)
        for test in described["kept"]:
            yield "kept", test in found, f"{test}: {found.get(test, '')}"


def main() -> None:
    """Print each miss and false alarm, and a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("described", type=Path)
    parser.add_argument("packages", nargs="+", type=Path)
    parser.add_argument("--seconds", type=int, default=55, help="limit of a judgement, in seconds")
    given = parser.parse_args()
    of, bad = Counter[str](), Counter[str]()
    for package in map(Path.absolute, given.packages):
        described = yaml.safe_load((given.described / f"{package.name}.yaml").read_text())
        for kind, is_bad, line in measure(described, package, given.seconds):
            of[kind] += 1
            bad[kind] += is_bad
            wrong = "false alarm" if is_bad else "missed"
            if is_bad or kind != "kept":
                is_wrong = is_bad == (kind == "kept")
                print(f"{wrong if is_wrong else 'found'}: {kind}: {line}", flush=True)
    print("\n| kind | tests | called bad |\n|---|---|---|")
    for kind, number in sorted(of.items()):
        print(f"| {kind} | {number} | {bad[kind]} |")
    planted = of.total() - of["kept"]
    print(f"\nbad tests found: {bad.total() - bad['kept']} of {planted}")
    print(f"kept tests called bad: {bad['kept']} of {of['kept']}")


if __name__ == "__main__":
    main()
