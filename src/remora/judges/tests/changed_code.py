"""Check that the tests which reach what a model edited still pass."""

import threading
from collections.abc import Mapping, Sequence

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.pytest_model.test_functions import is_test_name
from remora.code.syntax.changed_behavior import changed_behavior
from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.source import Source, read_source
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.judges.submission import Note, Submission
from remora.tools.tree import ToolTree

_MOST_TESTS = 50
_SEARCH = threading.Lock()
"""The jobs of a run share the search for tests, which is not made for several threads."""


def changes_tested(submission: Submission) -> str:
    """Check that the tests which reach code that a model edited pass, unless they failed before.

    The note says how many pass, or that the code is not tested and why, and names the clauses,
    defaults and branches that are different. What rules alone have changed is not looked at. A test
    that is gone is refused: nothing else says that what it tested still works.
    """
    for path, (before, after) in submission.edits.items():
        if is_test_file(path) and (gone := _tests(path, before) - _tests(path, after)):
            return f"{path}: the test {min(gone)} is gone"
    behavior = {
        key: changes
        for path, sides in submission.edits.items()
        for key, changes in _behavior(path, *sides).items()
    }
    if not behavior:
        return ""
    named = [change for changes in behavior.values() for change in changes]
    try:
        found = _passing(submission, [*behavior])
    except HostError as error:
        found = Note(f"not tested ({error.message})")
    return (
        Note(": ".join([found, "; ".join(named)])) if named and isinstance(found, Note) else found
    )


def _tests(path: str, content: bytes | None) -> set[str]:
    source = read_source(path, content or b"")
    found = find_definitions(source.tree, "") if isinstance(source, Source) else ()
    names = (definition.qualname.partition("#")[0] for definition in found)
    return {name for name in names if is_test_name(name)}


def _behavior(path: str, before: bytes | None, after: bytes | None) -> Mapping[str, list[str]]:
    """Return the changes of the functions of a file by key, if both versions can be read."""
    old, new = (read_source(path, content or b"") for content in (before, after))
    if not path.endswith(".py") or not (isinstance(old, Source) and isinstance(new, Source)):
        return {}
    found = changed_behavior(old.tree, new.tree)
    return {node_key(escape_path(path), name): changes for name, changes in found.items()}


def _passing(submission: Submission, keys: Sequence[str]) -> str:
    """Return a note on the tests that reach some nodes, or the one that fails because of the edits.

    Raises HostError if none can run.
    """
    if submission.in_tree is None:
        raise HostError("the project's code may not be run")
    return submission.in_tree(lambda place: _run_tests(place, submission, keys))


def _run_tests(place: ToolTree, submission: Submission, keys: Sequence[str]) -> str:
    if place.python is None:
        raise HostError("no environment of the project was found")
    from remora.judges.runner.parent import CIRCUMSTANCES, require_permission
    from remora.judges.tests.test_runs import run_tests
    from remora.judges.tests.tested_names import NodesWithTests

    require_permission(place.python)
    with _SEARCH:
        search = place.once(NodesWithTests)
        ids = [*dict.fromkeys(test for key in keys for test in search.tests_of(key))][:_MOST_TESTS]
    if not ids:
        raise HostError("no test reaches it")
    edits = submission.edits
    now = run_tests(place, ids, CIRCUMSTANCES[0])
    if now.problem or now.failures:
        edited = {
            path: place.read(path) if after is not None else None
            for path, (_, after) in edits.items()
        }
        _put(place, {path: before for path, (before, _) in edits.items()})
        try:
            earlier = run_tests(place, ids, CIRCUMSTANCES[0])
        finally:
            _put(place, edited)
        for test in earlier.passed - now.passed:
            why = now.failures.get(test) or now.problem or "it is skipped"
            return f"{test} passes without your edits; with them, {why}"
    if not now.passed:
        raise HostError(next(iter(now.failures.values()), now.problem) or "no test runs")
    return Note(f"tests that may reach it: {len(now.passed)} of {len(now.tests)} pass")


def _put(place: ToolTree, versions: Mapping[str, bytes | None]) -> None:
    """Write versions of files, without those that are None."""
    for path, content in versions.items():
        if content is not None:
            place.files.put(path, content)
        elif place.files.exists(path):
            place.files.remove(path)
