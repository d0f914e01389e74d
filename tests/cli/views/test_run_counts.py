"""Counts of a run in progress."""

import time

import pytest

from remora.agents.job import AgentResult, Job
from remora.cli.views.run_counts import RunCounts
from remora.runs.planning.plan import Plan


def job(number: int) -> Job:
    return Job(
        run_id="run-1", agent_id=f"a-{number}", operation="lint", node_id=f"node:a{number}.py:f",
        node_type="function", node_name="f", node_summary="", path="a.py", qualname="f",
    )  # fmt: skip


def test_the_time_left_follows_the_speed_of_the_jobs_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    counts = RunCounts()
    jobs = tuple(job(number) for number in range(3))
    counts.planned("run-1", Plan(jobs=jobs, seconds={"a-0": 1.0, "a-1": 2.0, "a-2": 7.0}))
    assert counts.seconds_left() is None
    clock = 102.0
    counts.ended(jobs[0], AgentResult(status="no_change", stop_reason="no_change", turns=1))
    assert counts.seconds_left() == 18.0
