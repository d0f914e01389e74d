"""Hunks that are pending after verdicts and gates."""

import pytest

from remora.memory.events import Gates, JobEnd, JobStart, Review, TakenOut, Written
from remora.runs.records.current_attempt import CurrentAttempts
from remora.statuses import ACCEPTED

AGENT = "lint-1"
PART = Written(changes=(), sha256="", hunks=(2,), of=4)


@pytest.mark.parametrize(
    ("verdict", "left"),
    [
        (None, (1, 2, 4)),
        (Review(agent_id=AGENT, verdict=ACCEPTED, written=PART, left=(1, 3, 4)), (1, 4)),
        (Review(agent_id=AGENT, verdict=ACCEPTED, written=PART), ()),
    ],
    ids=["no verdict", "a part is accepted", "a part is accepted and the others are rejected"],
)
def test_what_gates_took_out_is_not_pending(verdict: Review | None, left: tuple[int, ...]) -> None:
    attempts = CurrentAttempts()
    attempts.add(Gates(taken_out=(TakenOut(agent_id=AGENT, kept=(1, 2, 4)),)))
    attempts.add(verdict)
    assert attempts.left(AGENT) == left


def test_an_agent_that_was_resumed_is_not_over_until_it_ends_again() -> None:
    attempts = CurrentAttempts()
    start = JobStart(agent_id=AGENT, operation="lint", node_id="node:a.py:f")
    end = JobEnd(agent_id=AGENT, operation="lint", node_id="node:a.py:f", status="interrupted")
    for event, is_over in ((start, False), (end, True), (start, False), (end, True)):
        attempts.add(event)
        assert attempts.is_over == {AGENT: is_over}
