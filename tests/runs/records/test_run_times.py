"""When jobs worked, and on what, is read from the streams of real runs."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from remora.agents.job import Job
from remora.memory.events import Event, ModelRequest, RunStart
from remora.pictures.job_time import ACTIVITIES, JobTime
from remora.runs.records.run_stream import open_run
from remora.runs.records.run_times import read_job_times
from tests.runs.conftest import ONE_BY_ONE, SHOP, Desk, Watching, ticking


class Stopped(BaseException):
    """What ends a run as a kill does."""


class StopAtFirstQuestion(Watching):
    def event(self, job: Job, event: Event) -> None:
        super().event(job, event)
        if event.type == ModelRequest.type:
            raise Stopped


def times_of(desk: Desk) -> tuple[JobTime, ...]:
    return read_job_times(desk.project.trace, desk.newest)


def stop(desk: Desk) -> Event:
    """Begin a run that is stopped while a model is asked. Return the question."""
    desk.write(SHOP)
    desk.watching, desk.newest = StopAtFirstQuestion(), "run-1"
    with pytest.raises((Stopped, BaseExceptionGroup)):
        desk.analyze(run_id="run-1", request=ONE_BY_ONE)
    asked = desk.watching.events[-1]
    desk.watching = Watching()
    return asked


def agent_streams(desk: Desk) -> list[Path]:
    return list((desk.root / ".agentfs/traces").glob("*.jsonl"))


def test_every_job_has_its_time_and_what_it_waited_for(desk: Desk) -> None:
    desk.write(SHOP)
    desk.analyze(request=ONE_BY_ONE, clock=ticking())
    times = times_of(desk)
    assert [time.agent_id for time in times] == [
        job.agent_id for job in desk.view(desk.newest).jobs
    ]
    assert {time.status for time in times} == {"verified"}
    for time, after in pairwise(times):
        assert time.start < time.end <= after.start
    for time in times:
        inside = [span for span in time.spans if time.start <= span.start < span.end <= time.end]
        assert len(inside) == len(time.spans)
        assert time.waited("checks") > 0
        assert time.waited("tools") > 0
        assert sum(map(time.waited, ACTIVITIES)) < time.seconds
    assert any(time.waited("model") for time in times)


def test_a_stopped_attempt_ends_with_its_last_event(desk: Desk) -> None:
    asked = stop(desk)
    time = times_of(desk)[-1]
    assert time.status == "interrupted"
    assert time.end == datetime.fromisoformat(asked.timestamp).timestamp()
    assert time.end > time.start


@pytest.mark.slow
def test_a_resumed_attempt_has_one_time_before_and_one_after(desk: Desk) -> None:
    stop(desk)
    before = times_of(desk)
    desk.resume()
    first, second = [time for time in times_of(desk) if time.agent_id == before[-1].agent_id]
    assert first == before[-1]
    assert second.start >= first.end
    assert second.status == "verified"


@pytest.mark.slow
def test_a_run_that_is_being_written_is_running(desk: Desk) -> None:
    stop(desk)
    with open_run(desk.project, "run-1"):
        *_, time = times_of(desk)
    assert time.status == "running"


def test_a_damaged_stream_leaves_the_time_that_the_run_recorded(ran: Desk) -> None:
    before = times_of(ran)
    whole = {path: path.read_bytes() for path in agent_streams(ran)}
    damages: tuple[Callable[[bytes], bytes], ...] = (
        lambda content: content[: len(content) // 2],
        lambda content: b"[" + content[1:],
        lambda content: content.replace(b'"timestamp":"2', b'"timestamp":"<'),
        lambda _: b"",
    )
    for damage in damages:
        for path, content in whole.items():
            path.unlink(missing_ok=True)
            if damaged := damage(content):
                path.write_bytes(damaged)
        after = times_of(ran)
        times = [(each.start, each.end) for each in after]
        assert times == [(each.start, each.end) for each in before]
        assert sum(len(each.spans) for each in after) < sum(len(each.spans) for each in before)


def test_a_run_without_jobs_has_no_times(desk: Desk) -> None:
    desk.write({"a.py": "x = 1\n"})
    desk.analyze()
    assert next(event.type for event in desk.run_events(desk.newest)) == RunStart.type
    assert times_of(desk) == ()
