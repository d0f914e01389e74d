"""A run that was stopped anywhere is brought to the end that it would have had."""

import shutil
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec
import pytest

from remora.agents import Job
from remora.memory.events import Event, Head
from remora.models import Request
from tests.runs.conftest import ONE_BY_ONE, RULES, UNUSED, Desk, Watching, first

MANY = "def guarded(x):\n" + "".join(
    f"    try:\n        x({n})\n    except KeyError:\n        raise ValueError({n})\n"
    for n in range(4)
)
FILES = {"a.py": MANY, "b.py": UNUSED, "ruff.toml": RULES}


class Stopped(BaseException):
    """What ends a run as a kill does: nothing of it comes to its end."""


class Fuse(Watching):
    """Stops the run after so many events."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.left = events

    def event(self, job: Job, event: Event) -> None:
        super().event(job, event)
        self.left -= 1
        if self.left == 0:
            raise Stopped


def stopped(desk: Desk, events: int, answers: Any = first, **more: Any) -> str:
    """A run that was stopped after so many events, or came to its end before."""
    desk.watching = Fuse(events)
    try:
        desk.analyze(answers, run_id="run-1", **more)
    except BaseExceptionGroup as group:
        assert group.split(Stopped)[1] is None
    desk.watching, desk.newest = Watching(), "run-1"
    return desk.newest


def came_to(desk: Desk) -> list[Any]:
    """All that a run is about: what each job came to, at what price."""
    view = desk.view("run-1")
    assert (view.status, desk.problems()) == ("ended", [])
    return [msgspec.structs.replace(job, head=Head()) for job in view.jobs]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the run comes to that nobody stops."""
    desk = Desk(tmp_path_factory.mktemp("whole"))
    desk.write(FILES)
    desk.analyze(choosing, run_id="run-1", wish=ONE_BY_ONE)
    return came_to(desk)


def choosing(request: Request) -> Mapping[str, float]:
    """Follows from what is shown: mostly an edit, now and then a look or the end."""
    shown = "\n".join(message.content for message in request.messages or ())
    labels = request.decoding.labels
    best = Random(shown).choice(labels)
    return {label: 0.0 if label == best else -9.0 for label in labels}


def test_stopped_after_any_event_it_comes_to_the_same(desk: Desk, whole: list[Any]) -> None:
    desk.write(FILES)
    assert sum(job.turns for job in whole) > 5
    for events in range(1, 60, 9):
        shutil.rmtree(desk.root / ".agentfs", ignore_errors=True)
        stopped(desk, events, choosing, wish=ONE_BY_ONE)
        desk.resume(choosing)
        assert came_to(desk) == whole, events
