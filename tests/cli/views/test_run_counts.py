"""Counts of a run in progress."""

import time
from collections.abc import Iterator
from random import Random

import pytest

from remora.agents.job import AgentResult, Job
from remora.cli.views.run_counts import RunCounts
from remora.runs.planning.plan import Plan


def job(number: int) -> Job:
    return Job(
        run_id="run-1", agent_id=f"a-{number}", operation="lint", node_id=f"node:a{number}.py:f",
        node_type="function", node_name="f", node_summary="", path="a.py", qualname="f",
    )  # fmt: skip


ENDED = AgentResult(status="no_change", stop_reason="no_change", turns=1)


class Run:
    """A run of 30 jobs of 2 expected seconds each, of which two run at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.clock)
        self.counts = RunCounts()
        self.jobs = [job(number) for number in range(30)]
        seconds = {each.agent_id: 2.0 for each in self.jobs}
        self.counts.planned("run-1", Plan(jobs=tuple(self.jobs), seconds=seconds))

    def go(self, *, load: float, start: float, random: Random) -> Iterator[tuple[float, float]]:
        """Yield the time and the time left that is shown, each time a job ends."""
        left, ends = list(self.jobs), list[tuple[float, Job]]()
        for number in range(len(left)):
            while left and len(ends) < 2:
                self.counts.began(left[0])
                seconds = 4.0 * load * random.uniform(0.3, 1.7) + (0 if number else start)
                ends.append((self.clock + seconds, left.pop(0)))
            ends.sort(key=lambda each: each[0])
            self.clock, done = ends.pop(0)
            self.counts.ended(done, ENDED)
            shown = self.counts.seconds_left()
            if shown is not None:
                yield self.clock, shown


@pytest.mark.parametrize("load", [0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("start", [0.0, 40.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_time_left_is_within_a_factor_of_three(
    monkeypatch: pytest.MonkeyPatch, load: float, start: float, seed: int
) -> None:
    """From 20 % to 90 % of the jobs, whatever the load of the machine and the time to start."""
    run = Run(monkeypatch)
    shown = list(run.go(load=load, start=start, random=Random(seed)))
    assert len(shown) > 24
    for when, left in shown[-24:-3]:
        assert 1 / 3 < left / (run.clock - when) < 3


def test_the_time_left_counts_down_between_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch)
    _, left = next(run.go(load=1.0, start=0.0, random=Random(0)))
    run.clock += 5.0
    assert run.counts.seconds_left() == left - 5.0
    run.clock += 1000.0
    assert run.counts.seconds_left() == 0.0


def test_no_time_left_is_shown_after_one_job_even_if_it_was_most_of_the_work() -> None:
    """What a first job does for all, such as reading the project, says nothing of the others."""
    counts, jobs = RunCounts(), [job(number) for number in range(10)]
    seconds = {each.agent_id: 1.0 for each in jobs} | {jobs[0].agent_id: 40.0}
    counts.planned("run-1", Plan(jobs=tuple(jobs), seconds=seconds))
    counts.began(jobs[0])
    counts.ended(jobs[0], ENDED)
    assert counts.seconds_left() is None
