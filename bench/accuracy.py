"""Accuracy of links and related tests, against small programs and observed test runs.

Real packages: networkx as installed, and sources of others as pip gets them. Calls come from `sys.setprofile` at exact call sites; related tests from coverage's contexts.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH.parent))

from remora.code.callgraph.linker import Linker  # noqa: E402
from remora.code.file_analysis import read_facts  # noqa: E402
from remora.code.file_facts import NodeFacts  # noqa: E402
from remora.code.links import TIERS  # noqa: E402
from remora.code.pytest_model.related_tests import RelatedTests  # noqa: E402
from remora.hub.query.snapshots import MemorySnapshot  # noqa: E402
from remora.ids import node_key  # noqa: E402

_QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore")
_LATER = 0x20 | 0x80 | 0x200
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "remora-bench"


@dataclass(frozen=True)
class Package:
    """A project with tests: `tests` are pytest's arguments, `path` what to import from."""

    name: str
    version: str
    tests: Sequence[str]
    path: Sequence[str] = ("src", ".")


PACKAGES = (
    Package("networkx", "", ("networkx/classes", "networkx/utils", "networkx/readwrite"), (".",)),
    Package("click", "8.1.7", ("tests",)),
    Package("h11", "0.14.0", ("h11/tests",), (".",)),
    Package("tomlkit", "0.12.5", ("tests/test_api.py", "tests/test_items.py"), (".",)),
)


def unpack(package: Package, folder: Path) -> Path:
    """Unpack the package's source with its tests into a folder; the sdist stays in the cache."""
    if not package.version:
        spec = find_spec(package.name)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        root = folder / f"{package.name}-root"
        source = spec.submodule_search_locations[0]
        if root.exists():
            return root
        shutil.copytree(
            source, root / package.name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
        return root
    CACHE.mkdir(parents=True, exist_ok=True)
    named = f"{package.name}-{package.version}"
    if not (CACHE / f"{named}.tar.gz").exists():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(CACHE),
        ]
        wanted = ["--no-binary", package.name, f"{package.name}=={package.version}"]
        subprocess.run([*pip, *wanted], check=True)
    with tarfile.open(CACHE / f"{named}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / named


def pytest_run(
    root: Path, package: Package, command: Sequence[str], *, plugins: Path = BENCH, **extra: str
) -> float:
    """Run the package's tests and return the seconds. Tests may fail; only what ran counts."""
    path = os.pathsep.join([*(str(root / part) for part in package.path), str(plugins)])
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command, *_QUIET, *package.tests],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", **extra},
        capture_output=True,
        text=True,
        check=False,
    )
    print("  " + (done.stdout.strip().splitlines() or [done.stderr[-500:]])[-1])
    return time.perf_counter() - begin


def read_project(root: Path) -> MemorySnapshot:
    """Return all Python files of the package."""
    paths = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.py"))]
    return MemorySnapshot({path: read_facts(path, (root / path).read_bytes()) for path in paths})


Group = tuple[str, int, str]
"""A written call: caller, line, name. Calls of one name on one line are one."""


@dataclass
class Calls:
    """Calls in a file's source, by exact position, with the observed callees."""

    groups: dict[tuple[str, tuple[int, ...]], Group] = field(default_factory=dict)
    of_self: set[Group] = field(default_factory=set)
    seen: defaultdict[Group, set[str]] = field(default_factory=lambda: defaultdict(set))
    other: set[Group] = field(default_factory=set)
    """Executed, but what was called has another name than the one that is written."""
    executed: set[Group] = field(default_factory=set)


class _Written(ast.NodeVisitor):
    """Finds the calls of a file and the node that each belongs to, by the rules of links."""

    def __init__(self, path: str, nodes: Iterable[NodeFacts], calls: Calls) -> None:
        self._path = path
        self._calls = calls
        self._by_line = {(n.line_start, n.node_name): str(n.key) for n in nodes}
        self._owner = node_key(path)

    def visit_Call(self, node: ast.Call) -> None:
        """A call."""
        func = node.func
        line = node.lineno
        name = ""
        if isinstance(func, ast.Name):
            name = func.id
        elif isinstance(func, ast.Attribute):
            name, line = func.attr, func.end_lineno or line
        if name:
            group = (str(self._owner), line, name)
            place = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
            self._calls.groups[self._path, place] = group
            base = func.value if isinstance(func, ast.Attribute) else None
            if isinstance(base, ast.Name) and base.id in {"self", "cls"}:
                self._calls.of_self.add(group)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a definition: its body belongs to it, decorators and defaults to the enclosing scope."""
        self._definition(node, [*node.bases, *node.keywords])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Likewise."""
        self._definition(node, [node.args, *([node.returns] if node.returns else [])])

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Likewise."""
        self.visit_FunctionDef(node)

    def _definition(
        self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, around: list[Any]
    ) -> None:
        for part in (*node.decorator_list, *around):
            self.visit(part)
        outside = self._owner
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        self._owner = self._by_line.get((first, node.name), outside)  # type: ignore[assignment]
        for part in node.body:
            self.visit(part)
        self._owner = outside


def observe_calls(root: Path, view: MemorySnapshot, sites: Sequence[Any]) -> Calls:
    """Observed calls between nodes."""
    calls = Calls()
    by_line: dict[tuple[str, int, str], str] = {}
    for path in view.paths():
        nodes = [stored.facts for stored in view.nodes(path)]
        _Written(path, nodes, calls).visit(ast.parse((root / path).read_bytes()))
        by_line.update({(path, n.line_start, n.node_name): str(n.key) for n in nodes})
    classes = Families(view)
    for path, place, callee in sites:
        line, end, column, end_column = place
        group = calls.groups.get((path, (line, end, column, end_column)))
        if group is None:
            continue
        calls.executed.add(group)
        if callee is None:
            continue
        file, first, name, flags = callee
        key = by_line.get((file, first, name))
        if key is None or not is_written(key, group[2], classes) or flags & _LATER:
            calls.other.add(group)
        else:
            calls.seen[group].add(key)
    return calls


def _classes(view: MemorySnapshot) -> Iterator[str]:
    for key in view.keys():  # noqa: SIM118
        stored = view.node(key)
        if stored is not None and stored.facts.node_type == "class":
            yield key


class Families:
    """Classes and the constructors that make them, by the last names of their bases."""

    def __init__(self, view: MemorySnapshot) -> None:
        self._bases: defaultdict[str, set[str]] = defaultdict(set)
        for key in _classes(view):
            stored = view.node(key)
            for base in stored.facts.bases if stored is not None else ():
                self._bases[_last(key)].add(base.partition("[")[0].rpartition(".")[2])

    def makes(self, name: str, constructor: str) -> bool:
        """Return True if the class `constructor` may make the class `name`."""
        waiting, known = [name], set[str]()
        while waiting:
            found = waiting.pop()
            if found == constructor:
                return True
            if found not in known:
                known.add(found)
                waiting += self._bases.get(found, ())
        return False


def is_written(key: str, name: str, families: Families) -> bool:
    """Return True if a call of `name` names the callee, a constructor by its class."""
    if _last(key) == "__init__" and name != "__init__":
        return families.makes(name, _last(key.rpartition(".")[0]))
    return _last(key) == name


def _last(key: str) -> str:
    return key.rpartition(":")[2].rpartition(".")[2].partition("#")[0]


@dataclass
class Table:
    """Correct, wrong and missed edges by tier; overriders of self calls separately."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    overriders: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Table") -> "Table":
        self.right += other.right
        self.wrong += other.wrong
        self.missed += other.missed
        self.overriders += other.overriders
        return self

    @property
    def precision(self) -> float:
        """Precision of the edges at sites that ran."""
        return self.right.total() / max(1, self.right.total() + self.wrong.total())

    @property
    def recall(self) -> float:
        """Recall of the observed edges whose callee is named in the source."""
        return self.right.total() / max(1, self.right.total() + self.missed)

    def lines(self) -> Iterator[str]:
        """Return the lines to print."""
        whole = self.right.total() + self.missed
        for tier in TIERS[:4]:
            right, wrong = self.right[tier], self.wrong[tier]
            share = right / max(1, whole)
            told = f"{right / max(1, right + wrong):.3f}" if right + wrong else "  -  "
            yield f"    {tier:9} right {right:6} wrong {wrong:5}  precision {told}  finds {share:.3f}"
        yield (
            f"    together  right {self.right.total():6} wrong {self.wrong.total():5}  "
            f"precision {self.precision:.3f}  recall {self.recall:.3f}"
        )
        apart = self.overriders
        yield (
            f"    overriders of a self call: {apart['right']} of "
            f"{apart['right'] + apart['missed']} observed ones found, {apart['unseen']} not seen to run"
        )


def compare(view: MemorySnapshot, calls: Calls) -> Table:
    """Compare the linker's edges with the run's."""
    linker, families = Linker(view), Families(view)
    # no run shows a call of a class without constructor, or of what runs later
    unseen = {*_classes(view), *(key for key in view.keys() if _is_later(view, key))}  # noqa: SIM118
    judged = calls.executed - calls.other
    seen: defaultdict[tuple[str, str], set[Group]] = defaultdict(set)
    at: defaultdict[tuple[str, int], list[Group]] = defaultdict(list)
    for group in judged:
        at[group[0], group[1]].append(group)
        for callee in calls.seen.get(group, ()):
            seen[group[0], callee].add(group)
    found: dict[tuple[str, str], tuple[str, Group]] = {}
    for caller in {group[0] for group in judged}:
        inside = (e for e in linker.callees(caller) if e.key.startswith("node:"))
        edges = (e for e in inside if e.key not in unseen)
        for edge in edges:
            groups = (group for line in edge.lines for group in at[caller, line])
            place = next((g for g in groups if is_written(edge.key, g[2], families)), None)
            if place is not None:
                found[caller, edge.key] = (edge.tier, place)
    return _table(calls, seen, found)


def _table(
    calls: Calls,
    seen: Mapping[tuple[str, str], set[Group]],
    found: Mapping[tuple[str, str], tuple[str, Group]],
) -> Table:
    table = Table()
    for pair, groups in sorted(seen.items()):
        tier = found[pair][0] if pair in found else None
        if groups <= calls.of_self and not _is_own(pair) and tier != "exact":
            table.overriders["right" if tier else "missed"] += 1
        elif tier:
            table.right[tier] += 1
        else:
            table.missed += 1
            _, line, name = min(groups)
            table.faults.append(f"missed {_told(pair)}  ({name}, line {line})")
    for pair, (tier, group) in sorted(found.items()):
        if pair in seen:
            continue
        instead = calls.seen.get(group, set()) - {pair[1]}
        if group in calls.of_self and (not _is_own(pair) or instead):
            table.overriders["unseen"] += 1
        else:
            table.wrong[tier] += 1
            table.faults.append(f"wrong {tier} {_told(pair)}  ({group[2]}, line {group[1]})")
    return table


def _is_own(pair: tuple[str, str]) -> bool:
    """Return True if both belong to one class."""
    return pair[0].rpartition(".")[0] == pair[1].rpartition(".")[0]


def _told(pair: tuple[str, str]) -> str:
    return " -> ".join(pair)


def _is_later(view: MemorySnapshot, key: str) -> bool:
    """Generators and coroutines run when their values are used: no run shows their call."""
    lowered = view.lowered(key.removeprefix("node:").rpartition(":")[0])
    qualname = key.rpartition(":")[2]
    scopes = lowered.scopes if lowered is not None else ()
    return any(s.qualname == qualname and s.kind == 2 and s.flags for s in scopes)


def links(package: Package, folder: Path) -> Table:
    """Measure links on one package."""
    root = unpack(package, folder)
    out = folder / f"{package.name}.json"
    if not out.exists():
        command = ["-m", "pytest", "-p", "call_sites"]
        pytest_run(root, package, command, CALL_SITES_ROOT=str(root), CALL_SITES_OUT=str(out))
    view = read_project(root)
    return compare(view, observe_calls(root, view, json.loads(out.read_text())))


@dataclass
class Tests:
    """Related tests against coverage's contexts: pairs of a node and a test, and by node."""

    right: int = 0
    found: int = 0
    there: int = 0
    first: list[bool] = field(default_factory=list)
    """Whether each of the first five tests that are named for a node ran it."""
    recalls: list[float] = field(default_factory=list)
    precisions: list[float] = field(default_factory=list)
    tiers: Counter[tuple[str, bool]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, node: str, found: Mapping[str, str], there: set[str]) -> None:
        """Add a node: found tests with tiers, and the tests that ran it."""
        right = found.keys() & there
        self.right, self.found = self.right + len(right), self.found + len(found)
        self.there += len(there)
        for test, tier in found.items():
            self.tiers[tier, test in there] += 1
        if there:
            self.recalls.append(len(right) / len(there))
        self.first += [test in there for test in [*found][:5]] if there else []
        if found:
            self.precisions.append(len(right) / len(found))
        self.faults += [f"unrelated {node} {test}" for test in sorted(there - found.keys())[:5]]

    def lines(self) -> Iterator[str]:
        """Return the lines to print."""
        yield (
            f"    pairs: recall {self.right / max(1, self.there):.3f} of {self.there}, "
            f"precision {self.right / max(1, self.found):.3f} of {self.found}"
        )
        yield (
            f"    by node: recall {mean(self.recalls):.3f} of {len(self.recalls)} that tests run, "
            f"precision {mean(self.precisions):.3f}"
        )
        yield f"    of the first five tests of a node that tests run: {mean(self.first):.3f} right"
        for tier in TIERS[:4]:
            right, wrong = self.tiers[tier, True], self.tiers[tier, False]
            yield f"    {tier:9} right {right:6} wrong {wrong:6}"


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 for no values."""
    return sum(values) / max(1, len(values))


def ran_by(root: Path, package: Package, data: Path) -> dict[str, set[str]]:
    """Return the tests that ran a line of each node's body."""
    if not data.exists():
        include = f"{root}/*"
        command = ["-m", "coverage", "run", f"--data-file={data}", f"--include={include}", "-m"]
        command += ["pytest", "-p", "call_sites"]
        pytest_run(root, package, command, CALL_SITES_COVERAGE="1")
    import coverage

    measured = coverage.CoverageData(str(data))
    measured.read()
    found: defaultdict[str, set[str]] = defaultdict(set)
    for file in measured.measured_files():
        path = Path(file).relative_to(root).as_posix()
        if not (file.endswith(".py") and Path(file).is_file()):
            continue  # a template, or in an archive
        contexts = measured.contexts_by_lineno(file)
        for key, lines in _bodies(root / path, path):
            for line in lines:
                found[key].update(name for name in contexts.get(line, ()) if "::" in name)
    return found


def _bodies(file: Path, path: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield each function with the lines of its own statements."""
    nodes = {
        (n.line_start, n.node_name): str(n.key) for n in read_facts(path, file.read_bytes()).nodes
    }
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            body = [s for s in node.body if not isinstance(s, ast.FunctionDef | ast.ClassDef)]
            lines = [n.lineno for s in body for n in ast.walk(s) if isinstance(n, ast.stmt)]
            key = nodes.get((first, node.name))
            if key is not None:
                yield key, lines


def related(package: Package, folder: Path) -> Tests:
    """Measure related tests on one package, for functions outside its tests."""
    root = unpack(package, folder)
    truth = ran_by(root, package, folder / f"{package.name}.coverage")
    view = read_project(root)
    asked, table = RelatedTests(Linker(view), view), Tests()
    run = {test for tests in truth.values() for test in tests}
    for key in sorted(truth):
        if "test" in key.partition(":")[2].rpartition(":")[0]:
            continue
        found = {each.id: str(each.tier) for each in asked.search(key).tests}
        # what was not run here, or was skipped, says nothing
        table.add(key, {test: tier for test, tier in found.items() if test in run}, truth[key])
    return table


def main() -> None:
    """Print all tables."""
    wanted = set(sys.argv[1:])
    whole = Table()
    with TemporaryDirectory() as made:
        # a named folder keeps what was observed: another linker is compared in seconds
        folder = Path(os.environ.get("ACCURACY_FOLDER", made)).resolve()
        folder.mkdir(exist_ok=True)
        for package in PACKAGES:
            if wanted and package.name not in wanted:
                continue
            print(f"links, {package.name}")
            table = links(package, folder)
            whole += table
            print("\n".join(table.lines()))
            print(f"related tests, {package.name}")
            tests = related(package, folder)
            print("\n".join(tests.lines()))
            if wanted:
                print("\n".join((*table.faults, *tests.faults)))
    print("links, all")
    print("\n".join(whole.lines()))


if __name__ == "__main__":
    main()
