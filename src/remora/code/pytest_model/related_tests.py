"""Tests related to a node, found by static analysis or by their names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from remora.code.callgraph.files.program_protocol import OutOfTimeError, Program, linked_files
from remora.code.callgraph.linker import Linker
from remora.code.links import TIER_RANK, TIERS, Related, Tier
from remora.code.pytest_model.caller_search import DEPTH, CallerSearch, KnownLinks, LinkLookup
from remora.code.pytest_model.pytest_file import PytestFile, is_test_file, pytest_id
from remora.code.pytest_model.pytest_project import PytestProject
from remora.ids import MODULE, module_path, split_node_key

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


class SearchResult(NamedTuple):
    """The tests found. `complete` is False if the search was stopped before it ended."""

    tests: tuple[Related, ...]
    complete: bool


class RelatedTests:
    """Finds tests related to a node in one state of the code. Keeps caches between calls."""

    def __init__(self, linker: Linker, program: Program, known: KnownLinks | None = None) -> None:
        self._linker = linker
        self._program = program = linked_files(program)
        self.links = LinkLookup(linker, known)
        self._project = PytestProject(linker, program)

    def of(self, key: str) -> tuple[Related, ...]:
        """Return the tests related to a node, ordered by tier, then by distance.

        A test is related if it reaches the node through at most `DEPTH` calls (including fixtures),
        imports and uses the node, or is named after the node. The tier of a test is the tier of the
        weakest link between the test and the node. A link by name alone is `unique` if nothing else
        in the project has the name, and `possible` otherwise. An unknown node has no related tests.
        """
        return self.search(key).tests

    def search(self, key: str) -> SearchResult:
        """Return the result of `of`, or what was found until the program raised OutOfTimeError.

        The most certain and nearest tests are found first. A stopped search keeps its caches, so
        that the next search for the node gets further.
        """
        search = CallerSearch(self._linker, self._program, self.links, self._project)
        complete = True
        try:
            for file, test, tier in _tests_named_after(self._program, self._project, key):
                search.found.add(TIER_RANK[tier], DEPTH, file, test)
            search.from_node(key)
        except OutOfTimeError:
            complete = False
        best: dict[str, tuple[int, int]] = {}
        for (path, qualname), place in search.found.places.items():
            test = pytest_id(path, qualname)
            best[test] = min(place, best.get(test, place))
        nearest = sorted(best.items(), key=lambda item: item[::-1])
        tests = tuple(Related(id=test, tier=TIERS[rank]) for test, (rank, _) in nearest)
        return SearchResult(tests, complete=complete)


def _tests_named_after(
    program: Program, project: PytestProject, key: str
) -> Iterator[tuple[PytestFile, str, Tier]]:
    """Yield the file, the qualname and the tier of each test that is named after a node.

    Tests outside `test_<module>.py` count only if they are all in one file. They are `possible` if
    the node's name has several definitions.
    """
    path, qualname = split_node_key(key)
    named_files = list(project.files_named_after(_module_name(path)))
    if qualname == MODULE:
        for file in named_files:
            for test in file.tests():
                yield file, test, "unique"
        return
    name = qualname.rpartition(".")[2].partition("#")[0]
    named_paths = {file.path for file in named_files}
    for named in (f"def test_{_snake(name)}", f"def Test{_camel(name)}"):
        paths = [p for p in program.mentioning(named) if is_test_file(p)]
        preferred = [p for p in paths if p in named_paths]
        for test_path in preferred or (paths if len(paths) == 1 else []):
            is_sure = test_path in named_paths or project.defines_once(name)
            for file, test in _tests_called(project.file(test_path), named.removeprefix("def ")):
                yield file, test, "unique" if is_sure else "possible"


def _tests_called(file: PytestFile | None, name: str) -> Iterator[tuple[PytestFile, str]]:
    for test in file.tests() if file is not None else ():
        parts = test.split(".")
        if file is not None and name in {part.partition("#")[0] for part in parts}:
            yield file, test


def _module_name(path: str) -> str:
    """Return `foo` for `pkg/foo.py`, and `pkg` for `pkg/__init__.py`."""
    folder, _, file = module_path(path).removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if file == "__init__" else file
    return name.strip("_")


def _snake(name: str) -> str:
    return "_".join(word.lower() for word in _WORD.findall(name)) or name


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)
