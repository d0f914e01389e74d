"""What accepted tests were seen to run: told to the Hub for what still is what ran."""

import hashlib
from typing import Any

import pytest

from remora.agents.job import Job
from remora.hub.observed_links import Observation
from remora.memory.events import JobStart, SubmitResult
from remora.runs.records.agent_stream import agent_emitter
from remora.runs.records.job_view import read_job
from remora.runs.review.observed_tests import observed_runs
from tests.runs.conftest import Desk

MOD = "def f():\n    return g()\n\n\ndef g():\n    return 1\n"
TEST = "from mod import f\n\n\ndef test_f():\n    assert f() == 1\n"
OTHER = "from mod import f, g\n\n\ndef test_g():\n    assert g() == 1\n\n\n"
JOB = Job(
    run_id="run", agent_id="test-1", operation="test", node_id="node:mod.py:f", node_type="function",
    node_name="f", node_summary="", path="mod.py", qualname="f",
)  # fmt: skip
START = JobStart(agent_id="test-1", operation="test", node_id="node:mod.py:f", attempt=1)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def record(**more: Any) -> dict[str, Any]:
    return {
        "files": {"mod.py": sha(MOD), "test_mod.py": sha(TEST)},
        "tests": {
            "test_mod.py::test_f": ["node:test_mod.py:test_f", "node:mod.py:f", "node:mod.py:g"]
        },
        "calls": [
            ["node:mod.py:f", "node:mod.py:g", 2],
            ["node:test_mod.py:test_f", "node:mod.py:f", 5],
        ],
        **more,
    }


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.write({"mod.py": MOD, "test_mod.py": TEST})
    desk.project.trace.create()
    return desk


def seen(desk: Desk, observed: dict[str, Any], *, verified: bool = True) -> Observation:
    desk.project.trace.objects.put(TEST.encode())
    with agent_emitter(desk.project, JOB) as writer:
        writer.emit(SubmitResult(verified=verified, observed=observed), turn=1)
    return observed_runs(desk.project, [read_job(desk.project.trace, START, None)])


def pairs(found: Observation) -> tuple[set[str], set[tuple[str, str, tuple[int, ...]]]]:
    return {each.node for each in found.tests}, {
        (each.caller.rpartition(":")[2], each.callee.rpartition(":")[2], each.above_end)
        for each in found.calls
    }


def test_what_the_test_ran_and_who_called_whom(desk: Desk) -> None:
    found = seen(desk, record())
    assert pairs(found) == (
        {"node:mod.py:f", "node:mod.py:g"},
        {("f", "g", (0,)), ("test_f", "f", (0,))},
    )
    assert found.ran == ("test_mod.py::test_f",)


def test_a_test_that_is_beside_others_now(desk: Desk) -> None:
    desk.write({"test_mod.py": OTHER + TEST})
    assert pairs(seen(desk, record()))[0] == {"node:mod.py:f", "node:mod.py:g"}


def test_a_function_that_is_another_one_now_is_left_out(desk: Desk) -> None:
    desk.write({"mod.py": MOD.replace("return 1", "return 2")})
    desk.project.trace.objects.put(MOD.encode())
    assert pairs(seen(desk, record())) == ({"node:mod.py:f"}, {("test_f", "f", (0,))})


def test_a_test_that_is_another_one_now_says_nothing(desk: Desk) -> None:
    desk.write({"test_mod.py": TEST.replace("== 1", "== 2")})
    found = seen(desk, record())
    assert found.tests == ()
    assert pairs(found)[1] == {("f", "g", (0,))}


def test_a_submission_that_was_refused_says_nothing(desk: Desk) -> None:
    assert seen(desk, record(), verified=False).tests == ()


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"files": 1},
        record(files={}),
        record(files={"../mod.py": "0"}, tests={"x": ["node:../mod.py:f", "nonsense"]}),
        record(calls=[["f", "g", 10**9]]),
    ],
)
def test_what_is_not_such_a_record_is_left_out(desk: Desk, odd: dict[str, Any]) -> None:
    found = seen(desk, odd)
    assert {call.callee for call in found.calls} == set()
    assert all(test.node.startswith("node:mod.py:") for test in found.tests)
