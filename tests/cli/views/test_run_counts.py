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


def test_the_time_left_is_corrected_by_several_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 30 expected seconds takes 60; its first job of 2 expected seconds takes 36."""
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    counts = RunCounts()
    jobs = tuple(job(number) for number in range(15))
    counts.planned("run-1", Plan(jobs=jobs, seconds={each.agent_id: 2.0 for each in jobs}))
    counts.began(jobs[0])
    ended = AgentResult(status="no_change", stop_reason="no_change", turns=1)
    clock = 136.0
    counts.ended(jobs[0], ended)
    assert counts.seconds_left() is None
    clock = 137.0
    counts.ended(jobs[1], ended)
    left = counts.seconds_left()
    assert left is not None
    assert 20 < left < 3 * 23
    clock = 142.0
    assert counts.seconds_left() == left - 5.0
    clock = 300.0
    assert counts.seconds_left() == 0.0
