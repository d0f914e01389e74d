"""The tests that were found, and those that a fixture or a preparation is for."""

from collections.abc import Iterator

from remora.code.callgraph.files.program_protocol import Program
from remora.code.pytest_model.pytest_file import (
    FIXTURE_REQUEST_FUNCTIONS,
    PytestFile,
    is_conftest,
    is_test_file,
)
from remora.code.pytest_model.pytest_project import PytestProject


class FoundTests:
    """Collects tests, each with its best place; with `saying` only tests that mention one of these
    names."""

    def __init__(
        self, program: Program, suites: PytestProject, saying: frozenset[str] = frozenset()
    ) -> None:
        self._program = program
        self._suites = suites
        self._saying = saying
        self.places: dict[tuple[str, str], tuple[int, int]] = {}
        """By path and qualname: rank of the tier, and calls in between."""

    def test(self, rank: int, depth: int, suite: PytestFile, qualname: str) -> None:
        """A test; one of a class runs in each class below too."""
        if self._saying and not suite.mentions(qualname, self._saying):
            return
        owner, _, name = qualname.rpartition(".")
        if not owner:
            self._keep(rank, depth, suite.path, qualname)
            return
        for path, runs in self._suites.running(suite.path, owner, name):
            self._keep(rank, depth, path, f"{runs}.{name}")

    def around(self, rank: int, depth: int, suite: PytestFile, qualname: str) -> None:
        """All tests for which a preparation or an automatic fixture is there: those of its class,
        or file, or of all files below a conftest's folder."""
        owner, _, name = qualname.rpartition(".")
        if owner:
            for place, test in self._suites.prepared(suite.path, owner, name):
                if not self._saying or place.mentions(test, self._saying):
                    self._keep(rank, depth, place.path, test)
            return
        for path in self._program.paths() if is_conftest(suite.path) else [suite.path]:
            below = self._suites.at(path) if _sees(path, suite.path) else None
            if below is not None:
                for test in below.tests():
                    self.test(rank, depth, below, test)

    def users(self, suite: PytestFile, fixture: str) -> Iterator[tuple[PytestFile, str]]:
        """Tests and fixtures that ask for a fixture by name, where pytest would find it."""
        naming = set(self._program.mentioning(fixture))
        for asker in FIXTURE_REQUEST_FUNCTIONS:  # they name it by a string, which is no mention
            naming.update(self._program.mentioning(asker))
        for path in sorted(naming):
            asking = self._suites.at(path) if _sees(path, suite.path) else None
            if asking is None or (asking.gives(fixture) and path != suite.path):
                continue
            for user in asking.users(fixture):
                yield asking, user

    def _keep(self, rank: int, depth: int, path: str, qualname: str) -> None:
        place = rank, depth
        self.places[path, qualname] = min(place, self.places.get((path, qualname), place))


def _sees(path: str, fixture_path: str) -> bool:
    """Whether tests of `path` find the fixtures of the other file."""
    if is_conftest(fixture_path):
        folder = fixture_path.removesuffix("conftest.py")
        return path.startswith(folder)
    return path == fixture_path or not is_test_file(fixture_path)
