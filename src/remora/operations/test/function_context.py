"""The function under test, and the project files that call it or contain tests."""

import ast

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.test.target_function import TargetFunction, find_target
from remora.tools.host.text_lines import decode
from remora.tools.tree import ToolTree

_MOST_FILES = 400
_NAMED_IN = (
    "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "requirements*.txt",
    "requirements/*.txt", "dev-requirements*.txt", "test-requirements*.txt", "*/requirements*.txt",
    "uv.lock", "poetry.lock", "Pipfile",
)  # fmt: skip


def target_at(place: ToolTree, path: str, node: str) -> TargetFunction | str:
    """Return the function under test, or the reason it cannot be tested.

    Raises HostError if the file cannot be read.
    """
    return find_target(path, place.read(path), node, place.files.exists)


def test_files(place: ToolTree) -> dict[str, str]:
    paths = [path for path in place.files.glob("**/*.py", look=place.left) if is_test_file(path)]
    found: dict[str, str] = {}
    for path in paths[:_MOST_FILES]:
        try:
            found[path] = decode(path, place.read(path)).body
        except HostError:  # too large, or not UTF-8
            continue
    return found


def callers_of(place: ToolTree, subject: TargetFunction) -> list[ast.Module]:
    words = {subject.function.name, *([subject.owner.name] if subject.owner is not None else [])}
    found: list[ast.Module] = []
    for path in place.files.glob("**/*.py", look=place.left):
        if path == subject.path:
            continue
        try:
            content = place.read(path)
        except HostError:
            continue
        if any(f"{word}(".encode() in content for word in words):
            read = read_source(path, content)
            if not isinstance(read, Unreadable):
                found.append(read.tree)
    return found


def names_hypothesis(place: ToolTree, tests: dict[str, str]) -> bool:
    """Return True if the project's tests or requirements mention Hypothesis."""
    if any("import hypothesis" in text or "from hypothesis" in text for text in tests.values()):
        return True
    for pattern in _NAMED_IN:
        for path in place.files.glob(pattern, look=place.left):
            try:
                if b"hypothesis" in place.read(path):
                    return True
            except HostError:  # too large
                continue
    return False
