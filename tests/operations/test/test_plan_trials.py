"""Only modules of which a trial shows a usable result have jobs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.test import plan_trials
from remora.operations.test.missing_tests import WITHOUT_ARGUMENTS, TestNeed
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import write

Planned = Callable[..., dict[str, int | str]]
NO_USE = '''\
def load(name: str) -> str:
    """
    >>> load("a")
    'b'
    """
    return str({}[name])
'''
USABLE = (
    '''\
def double(text: str) -> str:
    """
    >>> double("ab")
    'abab'
    """
    return text * 2


'''
    + NO_USE
)
FILES = {
    "loads.py": NO_USE,
    "doubles.py": USABLE,
    "lost.py": "from os import nowhere_at_all\n\n\n" + USABLE,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "p", FILES)
    return tmp_path / "p"


@pytest.fixture
def planned(root: Path, plain_python: ProjectPython) -> Planned:
    def plan(
        path: str, notes: list[str], *, may_run: bool = True, can_write: bool = False
    ) -> dict[str, int | str]:
        options = {
            "python": plain_python, "may_run": may_run, "notify": notes.append, "open": can_write,
        }  # fmt: skip
        amounts = TestNeed(root, options)
        module = parse_module(path, (root / path).read_bytes())
        assert isinstance(module, Module)
        functions = [node for node in module.nodes if node.node_type == "function"]
        return {node.qualname: amounts.amount(module, node) for node in functions}

    return plan


def test_modules_without_a_usable_call_have_no_job(planned: Planned) -> None:
    notes: list[str] = []
    assert planned("loads.py", notes) == {"load": plan_trials.SHOWS_NOTHING}
    assert notes == ["trying calls of untested functions (at most 40)"]
    assert planned("loads.py", notes, may_run=False) == {"load": 1}
    assert len(notes) == 1
    assert planned("doubles.py", notes) == {"double": 1, "load": 1}, "one trial is enough"
    assert planned("lost.py", notes)["load"] == plan_trials.NOT_IMPORTED


def test_a_model_that_can_write_has_jobs_where_rules_find_no_call(
    root: Path, planned: Planned
) -> None:
    write(root, {"apart.py": "def split(rows):\n    return [row.parts() for row in rows]\n"})
    assert planned("apart.py", []) == {"split": WITHOUT_ARGUMENTS}
    assert planned("apart.py", [], can_write=True) == {"split": 1}
    assert planned("loads.py", [], can_write=True) == {"load": 1}
    assert planned("lost.py", [], can_write=True)["load"] == plan_trials.NOT_IMPORTED


SHARED_STATE = """KNOWN = {}


def keep(name):
    KNOWN[name] = 1


def find(name: str) -> str:
    if name in KNOWN:
        return name
    return ""


def shown(name: str) -> str:
    \"\"\"Show.

    >>> shown("a")
    'a 1'
    \"\"\"
    if name in KNOWN:
        return name
    return f"{name} {len(name)}"
"""


def test_functions_that_use_state_of_others_have_no_job(root: Path, planned: Planned) -> None:
    write(root, {"state.py": SHARED_STATE})
    found = planned("state.py", [], can_write=True)
    assert found["find"] == found["shown"] == plan_trials.DEPENDS


@pytest.mark.slow
def test_modules_with_a_test_file_in_common_have_a_job_each(root: Path, planned: Planned) -> None:
    test = "import doubles\nimport loads\n\n\ndef test_it():\n    assert doubles and loads\n"
    write(root, {"tests/test_all.py": test})
    assert planned("loads.py", [], can_write=True) == {"load": 1}
    assert planned("doubles.py", [], can_write=True) == {"double": 1, "load": 1}


def test_a_test_file_that_pytest_cannot_collect(root: Path, planned: Planned) -> None:
    write(root, {"tests/test_other.py": "def test_it(): ...\n"})
    write(
        root,
        {
            "tests/test_doubles.py": "import doubles\nfrom os import nowhere\n\n\ndef test_it(): ...\n"
        },
    )
    assert set(planned("doubles.py", []).values()) == {plan_trials.NOT_COLLECTED}


def test_after_some_trials_the_others_are_left(
    root: Path, planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_trials, "_MOST_OF_MODULE", 1)
    write(root, {"loads.py": NO_USE + NO_USE.replace("load", "other")})
    expected = {"load": plan_trials.SHOWS_NOTHING, "other": plan_trials.LIKE_OTHERS}
    assert planned("loads.py", []) == expected


def test_what_there_are_no_trials_for_is_left(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_trials, "_MOST_TRIED", 0)
    assert planned("doubles.py", []) == dict.fromkeys(("double", "load"), plan_trials.NOT_TRIED)
    monkeypatch.undo()
    monkeypatch.setattr(plan_trials, "_FUNCTION_S", 0.0)
    reason = f"{plan_trials.NOT_FINISHED} (for example load: not finished within 0 seconds)"
    assert planned("loads.py", []) == {"load": reason}


@pytest.mark.slow
def test_a_function_whose_test_cannot_be_written_has_no_job(root: Path, planned: Planned) -> None:
    write(root, {"tests/test_doubles.py": "import re as double\n\n\ndef test_it(): ...\n"})
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    found = planned("doubles.py", [])
    why = "tests/test_doubles.py uses the name double for something else"
    reason = f"{plan_trials.NOT_WRITTEN} (for example double: {why})"
    assert found == {"double": reason, "load": plan_trials.SHOWS_NOTHING}
    assert {path: path.read_bytes() for path in root.rglob("*.py")} == before


@pytest.mark.slow
def test_functions_with_the_same_problem_have_the_same_reason(root: Path, planned: Planned) -> None:
    text = USABLE + USABLE.partition("\n\n\n")[0].replace("double", "twice")
    write(
        root,
        {
            "doubles.py": text,
            "tests/test_doubles.py": "import re as double, os as twice\n\n\ndef test_it(): ...\n",
        },
    )
    found = planned("doubles.py", [])
    assert found["twice"] == found["double"]
    assert str(found["twice"]).startswith(plan_trials.NOT_WRITTEN)
