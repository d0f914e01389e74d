"""Real runs: added tests that another test of their file makes superfluous."""

from pathlib import Path

import pytest

from remora.operations.judged_change import Change, ChangedFile
from remora.operations.test.judging import written_test
from remora.operations.test.judging.circumstances import HERE, machine_path
from remora.operations.test.judging.repeated import repeated_tests
from remora.operations.test.judging.test_runs import run_tests
from remora.operations.test.judging.written_test import changed_tests
from remora.operations.test.runner.coverage import observed_run
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

CODE = """\
import re

DAYS = {"mon": 1, "sun": 7}


def seconds(text, limit=100):
    number, unit = text[:-1], text[-1]
    if unit not in ("s", "m"):
        raise ValueError(unit)
    return min(int(number), limit) * (60 if unit == "m" else 1)


def day(name):
    return DAYS[name.strip()]


def is_code(text):
    return bool(re.fullmatch("[a-c]+", text))


def size(text):
    return len(SIZES[text])


def _sizes(name):
    return {name: ["s"]}


SIZES = _sizes("xs")
"""
BEFORE = """\
import pytest

from times import day, is_code, seconds, size


def test_seconds():
    assert seconds("5s") == 5


def test_day():
    assert day(" mon") == 1


def test_code():
    assert is_code("aa")


def test_size():
    assert size("xs") == 1


def test_unknown_units():
    with pytest.raises(ValueError):
        seconds("5h")
"""
ADDED = """

def test_many_seconds():
    assert seconds("70s") == 70


def test_monday():
    assert day("mon") == 1


def test_middle_of_a_range_of_a_pattern():
    assert is_code("b")


def test_first_of_a_range_of_a_pattern():
    assert is_code("aaa")


def test_table_of_a_call():
    assert size("xs") == 1


def test_minutes():
    assert seconds("5m") == 300


def test_no_more_than_the_limit():
    assert seconds("500s") == 100


def test_sixty_seconds():
    assert seconds("60s") == 60


def test_another_limit():
    assert seconds("500s", limit=10) == 10


def test_another_unknown_unit():
    with pytest.raises(ValueError):
        seconds("70d")


def test_type():
    assert isinstance(seconds("5s"), int)
"""
PATH = "tests/test_times.py"


@pytest.fixture
def added(tmp_path: Path, plain_python: ProjectPython) -> Change:
    need(2)
    (tmp_path / "tests").mkdir()
    (tmp_path / "times.py").write_text(CODE)
    (tmp_path / PATH).write_text(BEFORE + ADDED)
    file = ChangedFile(path=PATH, before=BEFORE.encode(), after=(BEFORE + ADDED).encode())
    after, before = ToolTree(tmp_path, plain_python), tmp_path / "before"
    (before / "tests").mkdir(parents=True)
    (before / "times.py").write_text(CODE.replace("text[:-1]", "text[:-1].lstrip('6')"))
    (before / PATH).write_text(BEFORE)
    return Change(before=ToolTree(before), after=after, files={PATH: file})


def test_equal_branches_words_and_faults_make_a_test_superfluous(added: Change) -> None:
    """Not another unit, parameter or part of a pattern, nor a fault that only the new test detects.

    `test_sixty_seconds` fails without the change, and `test_no_more_than_the_limit` detects that `min(int(number), limit)` became `int(number)`.
    """
    tests = [*changed_tests(added)]
    seen = observed_run(
        added.after, run_tests(added.after, [test.id for test in tests], HERE, traced=True).seen
    )
    repeated, late = repeated_tests(added, tests, seen, lambda: False)
    assert {test.partition("::")[2]: why.split("`")[1] for test, why in repeated.items()} == {
        "test_many_seconds": "test_seconds",
        "test_monday": "test_day",
        "test_first_of_a_range_of_a_pattern": "test_code",
        "test_another_unknown_unit": "test_unknown_units",
        "test_type": "test_seconds",
    }
    assert late == [f"{PATH}::test_table_of_a_call"]
    assert repeated_tests(added, tests, seen, lambda: True)[1] != []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("assert open('/etc/os-release').read()", "/etc/os-release"),
        ("where = '/tmp/' + name\nwith open(where) as file:\n    assert file", "/tmp/"),
        ("assert Path('/usr/bin/env').exists()", "/usr/bin/env"),
        ("assert os.path.getsize('/etc/hosts')", "/etc/hosts"),
        ("(tmp_path / 'a').write_text('/var/log')", ""),
        ("assert client.open('/home/')", ""),
        ("assert normalized('/usr/bin/../env') == '/usr/env'", ""),
        ("assert open('data/sample.txt').read()", ""),
    ],
)
def test_paths_of_the_machine_that_a_test_uses(body: str, path: str) -> None:
    lines = "\n    ".join(body.splitlines())
    (test,) = written_test.tests_in(
        "test_it.py", f"def test_it():\n    {lines}\n".encode()
    ).values()
    assert machine_path(test.function) == path
