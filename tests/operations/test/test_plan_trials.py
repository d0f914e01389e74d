"""Only modules of which a trial shows a usable result have jobs."""

import sys
from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.test import plan_trials
from remora.operations.test.test_need import TestNeed
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import write
from tests.isolation_levels import need

NO_USE = "def load(name: str) -> str:\n    return str({}[name])\n"
USABLE = "def double(text: str) -> str:\n    return text * 2\n\n\n" + NO_USE
FILES = {
    "loads.py": NO_USE,
    "doubles.py": USABLE,
    "lost.py": "from os import nowhere_at_all\n\n\n" + USABLE,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    need(2)
    write(tmp_path / "p", FILES)
    return tmp_path / "p"


def planned(
    root: Path, path: str, notes: list[str], *, may_run: bool = True
) -> dict[str, int | str]:
    python = ProjectPython(python=Path(sys.executable).absolute(), root=root.parent / "none")
    amounts = TestNeed(root, {"python": python, "may_run": may_run, "notify": notes.append})
    module = parse_module(path, (root / path).read_bytes())
    assert isinstance(module, Module)
    functions = [node for node in module.nodes if node.node_type == "function"]
    return {node.qualname: amounts.amount(module, node) for node in functions}


def test_modules_without_a_usable_call_have_no_job(root: Path) -> None:
    notes: list[str] = []
    assert planned(root, "loads.py", notes) == {"load": plan_trials.SHOWS_NOTHING}
    assert notes == ["trying calls of untested functions (at most 40)"]
    assert planned(root, "loads.py", notes, may_run=False) == {"load": 1}
    assert len(notes) == 1
    assert planned(root, "doubles.py", notes) == {"double": 1, "load": 1}, "one trial is enough"
    assert planned(root, "lost.py", notes)["load"] == plan_trials.NOT_IMPORTED


def test_a_test_file_that_pytest_cannot_collect(root: Path) -> None:
    write(root, {"tests/test_other.py": "def test_it(): ...\n"})
    write(
        root,
        {
            "tests/test_doubles.py": "import doubles\nfrom os import nowhere\n\n\ndef test_it(): ...\n"
        },
    )
    assert set(planned(root, "doubles.py", []).values()) == {plan_trials.NOT_COLLECTED}


def test_after_some_trials_the_others_are_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_trials, "_MOST_OF_MODULE", 1)
    write(root, {"loads.py": NO_USE + NO_USE.replace("load", "other")})
    expected = {"load": plan_trials.SHOWS_NOTHING, "other": plan_trials.LIKE_OTHERS}
    assert planned(root, "loads.py", []) == expected


def test_what_there_is_no_time_for_is_planned(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_trials, "_MOST_TRIED", 0)
    notes: list[str] = []
    assert planned(root, "loads.py", notes) == {"load": 1}
    assert not notes, "no trial was started"
