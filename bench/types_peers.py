"""Other tools that add annotations, measured like the types operation: autotyping, infer-types, MonkeyType.

Usage: python bench/types_peers.py [PACKAGE...]. Tools, packages and tests are downloaded once.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from types_accuracy import Score
from types_packages import CACHE, EVALUATION, package_texts, stripped, true_types
from types_tests import environment, test_environment, tree_with_tests

from remora.code.syntax.source import parse_error
from remora.judges.types.terms import same
from remora.judges.types.type_checker import TypeChecker, line_map, new_diagnostics

_TOOLS = ("autotyping", "infer-types", "monkeytype", "pytest")
_SECONDS = 900


def _run(python: Path, *words: str, root: Path) -> str:
    """Run a module of an environment on a tree. A tool that fails leaves files as they are."""
    command = [str(python), "-m", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=_SECONDS, check=False)
    return done.stdout.decode()


def autotyping(root: Path, _package: str) -> None:
    python = environment("tools", _TOOLS)
    for option in ("--safe", "--aggressive"):
        _run(python, "autotyping", option, "--guess-common-names", ".", root=root)


def infer_types(root: Path, _package: str) -> None:
    _run(environment("tools", _TOOLS), "infer_types", ".", root=root)


def monkeytype(root: Path, package: str) -> None:
    """Run the package's own tests on the stripped files, and write the types that were seen."""
    python = test_environment(package)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "monkeytype"], check=True)
    bare = {str(path.relative_to(root)): path.read_text("utf-8") for path in root.rglob("*.py")}
    if not tree_with_tests(package, root, bare):
        raise FileNotFoundError(package)
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default"]
    options += ["--continue-on-collection-errors", "tests"]
    _run(python, "monkeytype", "run", "-m", "pytest", *options, root=root)
    for module in _run(python, "monkeytype", "list-modules", root=root).split():
        if not module.startswith("tests"):
            _run(python, "monkeytype", "apply", module, root=root)


TOOLS: dict[str, Callable[[Path, str], None]] = {
    "autotyping": autotyping,
    "infer-types": infer_types,
    "monkeytype": monkeytype,
}


def measure(tool: str, package: str) -> Score:
    """Remove all annotations of a package, let a tool write them, and count.

    Nothing counts as written in a file that does not parse afterwards.
    """
    texts = package_texts(package)
    truth = true_types(texts)
    bare = stripped(texts, truth.__contains__)
    root = CACHE / "trees" / tool / package
    shutil.rmtree(root, ignore_errors=True)
    for path, text in bare.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    TOOLS[tool](root, package)
    after = {path: (root / path).read_text(encoding="utf-8") for path in bare}
    broken = [path for path, text in after.items() if parse_error(text.encode())]
    found = true_types(after | {path: bare[path] for path in broken})
    written = [key for key in truth if key in found]
    right = sum(same(found[key], truth[key]) for key in written)
    return Score(len(truth), len(written), right, _added(bare, after))


def _added(bare: dict[str, str], after: dict[str, str]) -> int:
    """Return how many diagnostics of ty are new."""
    with closing(TypeChecker(bare, {}, minor=10)) as checker:
        before = checker.check({})
        found = checker.check(after)
    lines = {path: line_map(bare[path], text) for path, text in after.items()}
    moved = [each._replace(line=lines[each.path].get(each.line, 0)) for each in found]
    return len(new_diagnostics(before, moved))


def main(packages: list[str] | None = None) -> None:
    for tool in TOOLS:
        total = Score(0, 0, 0, 0)
        for package in packages or EVALUATION:
            try:
                score = measure(tool, package)
            except subprocess.TimeoutExpired:
                print(f"{tool:12} {package:16} not finished in {_SECONDS} s", flush=True)
                continue
            except FileNotFoundError:
                print(f"{tool:12} {package:16} its source archive has no tests", flush=True)
                continue
            total += score
            print(f"{tool:12} {package:16} {score}", flush=True)
        print(f"{tool:12} {'all':16} {total}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
