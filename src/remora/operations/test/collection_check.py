"""Check that pytest can collect a project's tests, before jobs depend on it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from remora.code.pytest_model.pytest_file import is_unittest_file
from remora.errors import HostError
from remora.judges.runner.orders import test_order
from remora.judges.runner.parent import CIRCUMSTANCES, run_in_child
from remora.judges.tests.tested_names import test_files
from remora.tools.host.module_names import import_roots
from remora.tools.tree import ToolTree

_SECONDS = 30.0
_MOST_FILES = 3
_NOTHING = ""
"""The root, of which no file is collected."""
_COLLECTED = (0, 5)
"""Exit codes of pytest: tests were found, or there are none in the files."""


def require_collection(place: ToolTree) -> None:
    """Raise HostError if pytest collects none of a few test files without an error.

    Faults of single files are not reported. Without test files, pytest must only accept the
    project's settings. Also raises HostError if pytest does not collect files with the names of new
    tests.
    """
    patterns = place.pytest_settings()
    if not patterns.collects_usual_names:
        names = " ".join(patterns.patterns)
        raise HostError(
            f"pytest collects only {names} here (python_files), and new tests would be in test_*.py",
            hint="add test_*.py to python_files in pytest's settings, or choose other operations",
        )
    tests = test_files(place)
    found = [path for path in tests if not is_unittest_file(path) and "def test" in tests[path]]
    chosen = _spread(found, tests) or [_NOTHING]
    problems = _problems(place, chosen)
    if not all(problems):
        return
    what = f"collect the project's tests: {chosen[0]}" if chosen[0] else "run here"
    raise HostError(f"pytest cannot {what}: {problems[0]}"[:400])


def _problems(place: ToolTree, paths: Sequence[str]) -> list[str]:
    """Return why pytest cannot collect each file. Empty texts are for files that it collects.

    A file that is only slow counts as collected.
    """
    orders = [{**test_order(place, path, [path], _SECONDS), "collect": True} for path in paths]
    if paths == [_NOTHING]:
        orders[0]["words"].append("--ignore-glob=*")
    results = run_in_child(place, import_roots(place.files), orders, CIRCUMSTANCES[0])
    problems: list[str] = []
    for number in range(len(paths)):
        one = results.of(number)
        failed = one is not None and (one.get("problem") or one.get("code") not in _COLLECTED)
        errors = [*((one or {}).get("failed") or ()), "it stops"]
        problems.append(str((one or {}).get("problem") or errors[0]) if failed else "")
    return problems


def _spread(paths: list[str], tests: Mapping[str, str]) -> list[str]:
    """Return a few small files, in the folders with most tests."""
    by_size = sorted(paths, key=lambda path: (len(tests[path]), path))
    folders = Counter(path.rpartition("/")[0] for path in by_size)
    first = [
        next(path for path in by_size if path.rpartition("/")[0] == folder)
        for folder, _ in folders.most_common(_MOST_FILES)
    ]
    return [*dict.fromkeys([*first, *by_size])][:_MOST_FILES]
