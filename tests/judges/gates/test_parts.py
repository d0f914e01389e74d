"""A part of a change that the gates judged as a whole is judged before it is written."""

import json
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

import remora
from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.runs.project import Project
from remora.runs.review.accepted_changes import Verdicts
from remora.tools.kept_answers import KeptAnswers
from remora.usecases.review import accept_part
from tests.cli.conftest import write
from tests.judges.gates.conftest import Judge, Judged
from tests.judges.gates.plant.operation import OPERATION

SOURCE = "def f():\n    return 1\n\n\ndef g():\n    return f()\n"
FILES = {"a.py": SOURCE, "test_a.py": "import a\n\n\ndef test_g():\n    assert a.g() == 1\n"}
PLANTS = {"a.py": [("return 1", "return 2"), ("return f()", "return f() - 1")]}
"""The second place needs the first one, and the first one the second."""
WORSE = "taken out by pytest (f, line 2): test_a.py::test_g fails: assert "

pytestmark = pytest.mark.slow


@pytest.fixture
def judged(active: Path, judge: Judge) -> Judged:
    found = judge(FILES, PLANTS)
    assert found.gates.proof == "tested"
    return found


@pytest.fixture
def project(judged: Judged) -> Project:
    return open_project(invocation_for(judged.root, {}, BUILT_IN | OPERATION))


def is_refused(judged: Judged, done: Verdicts) -> bool:
    (refused,) = done.refused
    assert refused["detail"].startswith(WORSE)
    assert [job.review.state for job in done.view.jobs] == ["pending"]
    return (judged.root / "a.py").read_text() == SOURCE


def test_a_part_that_makes_a_gate_worse_is_refused(
    judged: Judged, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.runs.judgement.judgement._LONG", 0.0)
    said: list[str] = []
    run = judged.view.run_id
    done = accept_part.accept_hunks(run, "a.py", [1], root=project, announce=said.append)
    assert is_refused(judged, done)
    took = f"they took {judged.gates.seconds:.0f} s in the run"
    assert said[0] == f"the project's own checks judge the part; {took}"


def test_a_gate_that_judged_the_run_and_not_the_part_is_named(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMORA_GATES__TIME_S", "0.01")
    project = open_project(invocation_for(judged.root, {}, BUILT_IN | OPERATION))
    said: list[str] = []
    run = judged.view.run_id
    accept_part.accept_hunks(run, "a.py", [1], root=project, announce=said.append)
    assert [text.partition(":")[0] for text in said if "not judged" in text] == [
        "the part is not judged by imports",
        "the part is not judged by pytest",
    ]


def test_an_edit_that_makes_a_gate_worse_is_refused(judged: Judged, project: Project) -> None:
    run = judged.view.run_id
    (file,) = accept_part.proposed_files(run, "a.py", root=project)
    edited = replace(file, theirs=SOURCE.replace("1", "3").encode())
    assert is_refused(judged, accept_part.accept_edited(run, "a.py", [edited], root=project))


def test_a_part_that_makes_nothing_worse_is_written(judged: Judged, project: Project) -> None:
    run = judged.view.run_id
    (file,) = accept_part.proposed_files(run, "a.py", root=project)
    edited = replace(file, theirs=SOURCE.replace("f()\n", "f() * 1\n").encode())
    done = accept_part.accept_edited(run, "a.py", [edited], root=project)
    assert done.conflicts == []


def test_the_whole_is_not_judged_again(
    judged: Judged, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.runs.judgement.judgement.Judgement", None)
    assert remora.accept(judged.view.run_id, every=True, root=project).conflicts == []


@pytest.mark.parametrize("is_edited", [False, True])
def test_what_a_gate_said_of_the_same_files_is_not_asked_again(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch, is_edited: bool
) -> None:
    """The state with one part is that from which the next one starts."""
    asked: list[str] = []
    keep = KeptAnswers.keep

    def counted(self: KeptAnswers, question: bytes, answer: bytes) -> None:
        asked.append(json.loads(question)[0][0])
        keep(self, question, answer)

    monkeypatch.setattr(KeptAnswers, "keep", counted)
    numbers = range(1, 4)
    source = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in numbers)
    plants = {"a.py": [(f"return {n}\n", f"return ({n})\n") for n in numbers]}
    test = "import a\n\n\ndef test_f1():\n    assert a.f1() == 1\n"
    judged = judge({"a.py": source, "test_a.py": test}, plants)
    assert asked.count("pytest") == 2
    project = open_project(invocation_for(judged.root, {}, BUILT_IN | OPERATION))
    if is_edited:
        write(judged.root, {"test_a.py": f"{test}\n"})
    asked.clear()
    for number, times in zip(numbers, (1 + is_edited, 1, 0), strict=True):
        run = judged.view.run_id
        assert not accept_part.accept_hunks(run, "a.py", [number], root=project).conflicts
        assert asked.count("pytest") == times
        asked.clear()


@pytest.mark.parametrize(("gates", "held"), [("static", {"ruff"}), ("none", set())])
def test_gates_that_the_user_leaves_out(
    active: Path, gates: Literal["static", "none"], held: set[str]
) -> None:
    write(active, {**FILES, "bad.py": "import os\n", "ruff.toml": ""})
    view = remora.analyze(active / "bad.py", root=active, operations=["lint"], gates=gates).view
    results = view.gates.results if view.gates else ()
    assert {result.name for result in results if not result.missing} == held
    assert {result.missing for result in results} <= {"", "gates.static is set"}
