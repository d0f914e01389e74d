"""Tests related to a node, found by static analysis or by their names."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from remora.code.callgraph.abstract_values import POSSIBLE
from remora.code.callgraph.files.program_protocol import OutOfTimeError, Program, linked_files
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import unqualified_name
from remora.code.links import TIER_RANK, TIERS, Related, Tier
from remora.code.pytest_model.caller_search import DEPTH, CallerSearch, KnownLinks, LinkLookup
from remora.code.pytest_model.pytest_file import PytestFile, pytest_id
from remora.code.pytest_model.pytest_project import PytestProject
from remora.code.pytest_model.pytest_settings import PytestSettings
from remora.ids import MODULE, module_path, split_node_key

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


class SearchResult(NamedTuple):
    """The tests found. `complete` is False if the search was stopped before it ended."""

    tests: tuple[Related, ...]
    complete: bool


class RelatedTests:
    """Finds tests related to a node in one state of the code. Keeps caches between calls."""

    def __init__(
        self,
        linker: Linker,
        program: Program,
        known: KnownLinks | None = None,
        settings: Callable[[], PytestSettings] = PytestSettings,
    ) -> None:
        """Prepare a search. `settings` is called before each search, because they may change."""
        self._settings = settings
        self._linker = linker
        self._program = program = linked_files(program)
        self.links = LinkLookup(linker, known)
        self._project = PytestProject(linker, program, settings())

    def search(self, key: str) -> SearchResult:
        """Return the tests related to a node, nearest first. Tests that are `possible` come last.

        A test is related if it reaches the node through at most `DEPTH` calls (including fixtures),
        imports and uses the node, or is named after the node. The tier of a test is the tier of the
        weakest link between the test and the node. A link by name alone is `unique` if nothing else
        in the project has the name, and `possible` otherwise. An unknown node has no related tests.

        If the program raises OutOfTimeError, the most certain and nearest tests have been found. A
        stopped search keeps its caches, so that the next search for the node gets further.
        """
        if (settings := self._settings()) != self._project.settings:
            self._project = PytestProject(self._linker, self._program, settings)
        search = CallerSearch(self._linker, self._program, self.links, self._project)
        complete = True
        try:
            for file, test, tier, depth in _tests_named_after(self._program, self._project, key):
                search.found.add(TIER_RANK[tier], depth, file, test)
            search.from_node(key)
        except OutOfTimeError:
            complete = False
        best: dict[str, tuple[int, int]] = {}
        for (path, qualname), place in search.found.places.items():
            test = pytest_id(path, qualname)
            best[test] = min(place, best.get(test, place))
        order = sorted((rank == POSSIBLE, depth, test) for test, (rank, depth) in best.items())
        tests = tuple(Related(id=test, tier=TIERS[best[test][0]]) for *_, test in order)
        return SearchResult(tests, complete=complete)


def _tests_named_after(
    program: Program, project: PytestProject, key: str
) -> Iterator[tuple[PytestFile, str, Tier, int]]:
    """Yield file, qualname, tier and distance of each test that is named after a node.

    Tests outside `test_<module>.py` count only if they are all in one file. They are `possible` if
    the node's name has several definitions.
    """
    path, qualname = split_node_key(key)
    module, name = _module_name(path), qualname.rpartition(".")[2].partition("#")[0]
    words = [word.lower() for word in _WORD.findall(name)] or [name]
    test_name = f"test_{'_'.join(words)}"
    own_files = (f"test_{module}.py", f"{module}_test.py")
    candidates = program.paths() if name == MODULE else program.mentioning(f"def {test_name}")
    paths = [path for path in sorted(candidates) if project.collects(path)]
    near = [path for path in paths if path.rpartition("/")[2] in own_files]
    is_sure = bool(near) or project.defines_once(name)
    named = near or (paths if len(paths) == 1 and name != MODULE else ())
    for file in filter(None, map(project.file, named)):
        for test in file.tests():
            if name == MODULE:
                yield file, test, "unique", DEPTH
            elif unqualified_name(test).partition("#")[0] == test_name:
                yield file, test, "unique" if is_sure else "possible", 0 if near else DEPTH


def _module_name(path: str) -> str:
    """Return `foo` for `pkg/foo.py`, and `pkg` for `pkg/__init__.py`."""
    folder, _, file = module_path(path).removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if file == "__init__" else file
    return name.strip("_")
