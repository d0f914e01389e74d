"""Findings left after `remora analyze -o lint` and `accept --all`, next to `ruff check --fix`.

Both fix copies of the same packages with the same rules, settings and permission.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.options import RuffOptions

_WIDE = "E,F,W,B,UP,SIM,PTH,PERF,RET,PLR,RUF,C4,PIE,D,I"
_SELECTIONS = {"wide": [_WIDE], "default": ["default"], "own": []}
"""The selectors of `--select`, by name. Without any, a run chooses the rules."""
_PERMISSIONS: dict[str, list[str]] = {"safe": [], "unsafe": ["--unsafe-fixes"]}
_NOT_COPIED = shutil.ignore_patterns(".venv", ".git", ".agentfs", "__pycache__", "*.pyc")
_RUFF = [str(find_ruff_bin()), "check", "--no-cache", "--quiet", "--exit-zero"]
_PYTEST = ["-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider"]

Findings = Counter[str]
"""The number of findings of each rule."""


class Fixed(NamedTuple):
    """What is left after the fixes, and the tests that passed before and do not pass after."""

    findings: Findings
    lost_tests: frozenset[str]


class Cell(NamedTuple):
    before: Findings
    ruff: Fixed
    remora: Fixed

    def __str__(self) -> str:
        ruff, remora = self.ruff.findings.total(), self.remora.findings.total()
        return f"{ruff}, {remora}" if remora <= ruff else f"{ruff}, **{remora}**"

    @property
    def beyond(self) -> Findings:
        """The findings that only Remora fixed."""
        return self.ruff.findings - self.remora.findings


def measure(package: Path, selectors: list[str], permission: list[str], tests: set[str]) -> Cell:
    """Fix two copies of a package. `tests` are those that pass before; with none, no test runs."""
    selected = ["--select", ",".join(selectors)] if selectors else []
    with _copy(package) as folder:
        options = RuffOptions(FileTree(folder), selectors).check(".")
        before = _findings(folder, options)
        if not before:
            return Cell(before, Fixed(before, frozenset()), Fixed(before, frozenset()))
        _run(folder, [*_RUFF, "--fix-only", *permission, *options, "."])
        ruff = Fixed(_findings(folder, options), _lost(package, folder, tests))
    with _copy(package) as folder:
        remora = [sys.executable, "-m", "remora"]
        _run(folder, [*remora, "analyze", "-o", "lint", "--yes", *permission, *selected])
        _run(folder, [*remora, "accept", "last", "--all", "--untested"])
        ours = Fixed(_findings(folder, options), _lost(package, folder, tests))
    return Cell(before, ruff, ours)


def _findings(folder: Path, options: Sequence[str]) -> Findings:
    found = json.loads(_run(folder, [*_RUFF, "--output-format", "json", *options, "."]))
    records = f"{os.sep}.agentfs{os.sep}"
    return Counter(each["code"] for each in found if records not in each["filename"])


def _lost(package: Path, folder: Path, tests: set[str]) -> frozenset[str]:
    return frozenset(tests - _passed(package, folder)) if tests else frozenset()


def _passed(package: Path, folder: Path) -> set[str]:
    """Return the tests that pass in a copy, with the interpreter in the package's `.venv`."""
    python = package / ".venv" / "bin" / "python"
    paths = {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'src'}", "PYTHONHASHSEED": "0"}
    lines = _run(folder, [str(python), *_PYTEST], paths).splitlines()
    return {line for line in lines if line.startswith("PASSED ")}


@contextmanager
def _copy(package: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="remora-superset-") as folder:
        copy = Path(folder) / package.name
        shutil.copytree(package, copy, symlinks=True, ignore=_NOT_COPIED)
        yield copy


def _run(folder: Path, words: Sequence[str], more: dict[str, str] | None = None) -> str:
    """Return the output. An exit code of 1 means findings, conflicts or failed tests."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | (more or {}), capture_output=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def _report(package: Path, cells: dict[tuple[str, str], Cell], tests: set[str]) -> None:
    row = [package.name]
    for name in _SELECTIONS:
        row.append(str(cells[name, "safe"].before.total()))
        row += [str(cells[name, permission]) for permission in _PERMISSIONS]
    print(f"| {' | '.join(row)} |", flush=True)
    for (name, permission), cell in cells.items():
        lost = len(cell.ruff.lost_tests), len(cell.remora.lost_tests)
        if tests and name == "wide":
            print(
                f"  {permission}: of {len(tests)} tests, {lost[0]} fail after ruff, {lost[1]} here"
            )
            for test in sorted(cell.remora.lost_tests - cell.ruff.lost_tests):
                print(f"    {test}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", nargs="+", type=Path, help="folder of a package")
    parser.add_argument(
        "--tests", action="store_true", help="run the tests with PACKAGE/.venv, for the wide rules"
    )
    arguments = parser.parse_args()
    every: list[Cell] = []
    beyond = {permission: Findings() for permission in _PERMISSIONS}
    for each in arguments.package:
        package = each.resolve()
        tests: set[str] = set()
        if arguments.tests:
            with _copy(package) as folder:
                tests = _passed(package, folder)
        cells = {
            (name, permission): measure(
                package, selectors, words, tests if name == "wide" else set()
            )
            for name, selectors in _SELECTIONS.items()
            for permission, words in _PERMISSIONS.items()
        }
        _report(package, cells, tests)
        every += cells.values()
        for permission in _PERMISSIONS:
            beyond[permission] += cells["wide", permission].beyond
    held = sum(each.remora.findings.total() <= each.ruff.findings.total() for each in every)
    print(f"{held} of {len(every)} cells: no more findings left than ruff leaves")
    for permission, total in beyond.items():
        print(f"{permission}, fixed beyond ruff: {dict(total.most_common())}")


if __name__ == "__main__":
    main()
