"""Tests that are proposed for the functions of packages, beside those of other generators.

    python bench/proposed_tests.py PYTHON [--strengthen] [--functions N] [--tools T,...] FOLDER...

Each FOLDER is an unpacked source distribution. PYTHON is an interpreter with pytest, Hypothesis,
Pynguin and the requirements of the packages. Without `--strengthen`, the packages' tests are put
aside, and the tests of Hypothesis' ghostwriter and of Pynguin are measured, too. Without arguments, a
small project is measured.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired, run
from typing import NamedTuple

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.errors import HostError
from remora.operations.test.file_tests import write_tests
from remora.operations.test.function_context import target_at
from remora.operations.test.missing_tests import TestNeed
from remora.operations.test.mutants import mutants
from remora.operations.test.runner.mutation_check import surviving_mutants
from remora.operations.test.target_function import TargetFunction
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree

SMALL = '''\
"""Sizes."""


def parse_size(text):
    """The number of bytes.

    >>> parse_size("10k")
    10240
    """
    if not text:
        raise ValueError("empty")
    if text.endswith("k"):
        return int(text[:-1]) * 1024
    if text.endswith("M"):
        return int(text[:-1]) * 1024 * 1024
    return len(text)
'''
TEST = "from sizes import parse_size\n\n\ndef test_parse_size():\n    assert parse_size('10k') == 10240\n"
_TESTS = ("tests", "test")
_GHOST = "from hypothesis.extra.cli import main; main()"
_SEARCH_S = 30
"""Time that Pynguin may search for tests of a module, in seconds."""


class Measured(NamedTuple):
    """What a tool proposed for one function. `killed` counts mutants, of `mutants`."""

    passes: bool = False
    normal: bool = False
    killed: int = 0
    mutants: int = 0
    seconds: float = 0.0


class Package:
    """A copy of a package, in which functions are measured."""

    def __init__(self, source: Path, python: Path, place: Path, *, strengthen: bool) -> None:
        self.tree = place / source.name
        shutil.copytree(source, self.tree, symlinks=True)
        if not strengthen:
            for name in _TESTS:
                for folder in [*self.tree.rglob(name)]:
                    shutil.rmtree(folder, ignore_errors=True)
            for file in [*self.tree.rglob("test_*.py"), *self.tree.rglob("*_test.py")]:
                file.unlink()
        self.name, self.strengthen = source.name, strengthen
        chosen = ProjectPython(python=python, root=place / "none", activated=True)
        self.place = ToolTree(self.tree, chosen)
        self.searched: dict[str, tuple[str, float]] = {}

    def planned(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the qualname of each function that would get a job."""
        need = TestNeed(ToolTree(self.tree), {"strengthen": self.strengthen})
        for file in sorted(self.tree.rglob("*.py")):
            path = file.relative_to(self.tree).as_posix()
            module = parse_module(path, file.read_bytes())
            if not isinstance(module, Module):
                continue
            for node in module.nodes:
                if node.node_type == "function" and need.amount(module, node) == 1:
                    yield path, node.qualname

    def ours(self, path: str, qualname: str) -> Measured | None:
        """Return what we propose, or None if we propose nothing."""
        start = time.monotonic()
        done = write_tests(self.place, path, [qualname], strengthen=self.strengthen)
        if not done["ids"]:
            print(f"# {self.name} {path}:{qualname}: {done['reasons'][qualname]}", file=sys.stderr)
            return None
        seconds = time.monotonic() - start
        name = done["ids"][0].rpartition("::")[2]
        text = show(self.tree / done["path"], name, f"{self.name} {path}:{qualname}")
        normal = "assert " in text or "assertEqual" in text
        if self.strengthen:
            worth = done["worth"][qualname]
            passes = self._proved(path, qualname, done["ids"], Measured()).passes
            return Measured(passes, normal, worth["killed"], worth["mutants"], seconds)
        return self._proved(path, qualname, done["ids"], Measured(normal=normal, seconds=seconds))

    def ghost(self, path: str, qualname: str) -> Measured | None:
        """Return what `hypothesis write` proposes, or None if it cannot import the function."""
        subject = target_at(self.place, path, qualname)
        assert isinstance(subject, TargetFunction)
        start = time.monotonic()
        assert self.place.python is not None
        words = [str(self.place.python.python), "-c", _GHOST, "write", "--style=pytest"]
        done = run(
            [*words, f"{subject.module}.{qualname}"],
            cwd=self.tree / subject.import_root, capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        if done.returncode or "def test_" not in done.stdout:
            return None
        file = self.tree / "test_ghost_of_it.py"
        file.write_text(done.stdout)
        name = next(line for line in done.stdout.splitlines() if line.startswith("def test_"))
        test = f"{file.name}::{name.removeprefix('def ').partition('(')[0]}"
        normal = "assert " in done.stdout
        measured = Measured(normal=normal, seconds=time.monotonic() - start)
        return self._proved(path, qualname, [test], measured)

    def pynguin(self, path: str, qualname: str) -> Measured | None:
        """Return what Pynguin proposes for the module, as far as it calls the function.

        The module is searched once, and each of its functions has the time of the search.
        """
        if path not in self.searched:
            self.searched[path] = self._search(path, qualname)
        test, seconds = self.searched[path]
        if not test:
            return None
        normal = "    assert " in (self.tree / test).read_text()
        found = self._proved(path, qualname, [test], Measured(normal=normal, seconds=seconds))
        return found if found.passes else None

    def _search(self, path: str, qualname: str) -> tuple[str, float]:
        """Return the path of the tests that Pynguin writes for a module, or an empty string."""
        subject = target_at(self.place, path, qualname)
        assert isinstance(subject, TargetFunction)
        assert self.place.python is not None
        start = time.monotonic()
        folder = self.tree / "pynguin_tests" / subject.module.replace(".", "_")
        with suppress(TimeoutExpired):
            run(
                [
                    str(self.place.python.python), "-m", "pynguin", "--module-name", subject.module,
                    "--project-path", str(self.tree / subject.import_root), "--output-path",
                    str(folder), "--maximum-search-time", str(_SEARCH_S), "--seed", "13",
                ],
                cwd=self.tree, capture_output=True, check=False, timeout=10 * _SEARCH_S,
                env={**os.environ, "PYNGUIN_DANGER_AWARE": "1"},
            )  # fmt: skip
        file = folder / f"test_{subject.module.rpartition('.')[2]}.py"
        seconds = time.monotonic() - start
        return (file.relative_to(self.tree).as_posix() if file.exists() else ""), seconds

    def _proved(
        self, path: str, qualname: str, tests: Sequence[str], measured: Measured
    ) -> Measured:
        subject = target_at(self.place, path, qualname)
        assert isinstance(subject, TargetFunction)
        faults = mutants(self.place.read(path), qualname)
        measured = measured._replace(mutants=len(faults))
        try:
            found = surviving_mutants(self.place, subject, tests, faults)
        except HostError:
            return measured
        killed = len(faults) - len(found.mutants) if found.tests else 0
        return measured._replace(passes=bool(found.tests), killed=killed)


def show(file: Path, name: str, title: str) -> str:
    """Print the source of a proposed or extended test to standard error, and return it."""
    module = parse_module("x.py", file.read_bytes())
    assert isinstance(module, Module)
    for node in module.nodes:
        if node.qualname.rpartition(".")[2] == name:
            lines = file.read_text().splitlines()[node.line_start - 1 : node.line_end]
            print(f"# {title}", *lines, "", sep="\n", file=sys.stderr)
            return "\n".join(lines)
    return ""


def row(name: str, tool: str, asked: int, found: Sequence[Measured | None]) -> str:
    """Return a row of the table."""
    made = [each for each in found if each is not None]
    passing = [each for each in made if each.passes]
    killed = sum(each.killed for each in passing)
    cells = [
        name, tool, asked, len(made), len(passing), sum(each.normal for each in passing),
        f"{killed} of {sum(each.mutants for each in passing)}",
        f"{killed / max(len(passing), 1):.1f}",
        f"{sum(each.seconds for each in made) / max(len(made), 1):.1f}",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "| package | tool | functions | proposals | pass | with a value | mutants killed | per proposal | s |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def measure(
    folders: Sequence[Path], python: Path, most: int, *, strengthen: bool, tools: Sequence[str]
) -> None:
    print(HEAD, flush=True)
    for folder in folders:
        with tempfile.TemporaryDirectory() as place:
            package = Package(folder, python, Path(place), strengthen=strengthen)
            planned = list(package.planned())
            random.Random(13).shuffle(planned)
            sample = planned[:most]
            works = {"remora": package.ours}
            works |= (
                {} if strengthen else {"ghostwriter": package.ghost, "pynguin": package.pynguin}
            )
            for tool, work in works.items():
                if tool not in tools:
                    continue
                found = []
                for path, qualname in sample:
                    try:
                        found.append(work(path, qualname))
                    except HostError as error:
                        print(f"# {path}:{qualname}: {error.message}", file=sys.stderr)
                        found.append(None)
                print(row(folder.name, tool, len(sample), found), flush=True)


def main(words: Sequence[str] = ()) -> dict[str, float]:
    """Return seconds until the first proposal and until a test is strengthened, and mutants a second."""
    if not words:
        return _small()
    parser = argparse.ArgumentParser()
    parser.add_argument("python", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--strengthen", action="store_true")
    parser.add_argument("--tools", default="remora,ghostwriter,pynguin")
    parser.add_argument("--functions", type=int, default=12)
    asked = parser.parse_args(words)
    measure(
        asked.folders, asked.python.absolute(), asked.functions,
        strengthen=asked.strengthen, tools=asked.tools.split(","),
    )  # fmt: skip
    return {}


def _small() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "small"
        source.mkdir()
        (source / "sizes.py").write_text(SMALL)
        python = Path(sys.executable).absolute()
        package = Package(source, python, Path(place) / "new", strengthen=False)
        first = package.ours("sizes.py", "parse_size")
        (source / "test_sizes.py").write_text(TEST)
        package = Package(source, python, Path(place) / "old", strengthen=True)
        start = time.monotonic()
        write_tests(package.place, "sizes.py", ["parse_size"], strengthen=True)
        strengthened = time.monotonic() - start
        subject = target_at(package.place, "sizes.py", "parse_size")
        assert isinstance(subject, TargetFunction)
        faults = mutants(package.place.read("sizes.py"), "parse_size")
        start = time.monotonic()
        surviving_mutants(package.place, subject, ["test_sizes.py::test_parse_size"], faults)
        rate = len(faults) / (time.monotonic() - start)
    assert first is not None
    print(f"first proposal: {first.seconds:.1f} s")
    print(f"strengthening with {len(faults)} mutants: {strengthened:.1f} s")
    print(f"mutants, with the start of pytest: {rate:.1f} a second")
    return {"first": first.seconds, "strengthened": strengthened, "mutants": rate}


if __name__ == "__main__":
    main(sys.argv[1:])
