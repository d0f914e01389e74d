"""Tests found by a search, either directly or through the fixtures and setup functions they use."""

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
    """The tests found so far, each with its best rank."""

    def __init__(self, program: Program, project: PytestProject) -> None:
        self._program = program
        self._project = project
        self.places: dict[tuple[str, str], tuple[int, int]] = {}
        """Maps (path, qualname) to (rank of the tier, number of calls between test and node)."""

    def add(self, rank: int, depth: int, file: PytestFile, qualname: str) -> None:
        """Add a test. A test in a class also runs in each subclass."""
        owner, _, name = qualname.rpartition(".")
        if not owner:
            self._add_place(rank, depth, file.path, qualname)
            return
        for path, runs in self._project.classes_running(file.path, owner, name):
            self._add_place(rank, depth, path, f"{runs}.{name}")

    def add_served(self, rank: int, depth: int, file: PytestFile, qualname: str) -> None:
        """Add all tests in the class, file or folder that a setup function or fixture serves."""
        owner, _, name = qualname.rpartition(".")
        if owner:
            for test_file, test in self._project.tests_set_up_by(file.path, owner, name):
                self._add_place(rank, depth, test_file.path, test)
            return
        for path in self._program.paths() if is_conftest(file.path) else [file.path]:
            served_file = self._project.file(path) if _can_use(path, file.path) else None
            if served_file is not None:
                for test in served_file.tests():
                    self.add(rank, depth, served_file, test)

    def fixture_users(self, file: PytestFile, fixture: str) -> Iterator[tuple[PytestFile, str]]:
        """Yield the tests and fixtures that request a fixture, in all files that can use it."""
        candidates = set(self._program.mentioning(fixture))
        for function in FIXTURE_REQUEST_FUNCTIONS:  # these take the fixture name as a string
            candidates.update(self._program.mentioning(function))
        for path in sorted(candidates):
            user_file = self._project.file(path) if _can_use(path, file.path) else None
            if user_file is None or (user_file.defines_fixture(fixture) and path != file.path):
                continue
            for user in user_file.fixture_users(fixture):
                yield user_file, user

    def _add_place(self, rank: int, depth: int, path: str, qualname: str) -> None:
        place = rank, depth
        self.places[path, qualname] = min(place, self.places.get((path, qualname), place))


def _can_use(path: str, fixture_path: str) -> bool:
    """Return True if tests in `path` can use the fixtures that `fixture_path` defines."""
    if is_conftest(fixture_path):
        folder = fixture_path.removesuffix("conftest.py")
        return path.startswith(folder)
    return path == fixture_path or not is_test_file(fixture_path)
