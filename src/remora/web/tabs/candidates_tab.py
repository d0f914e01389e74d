"""The tab *Candidates*: the calls that were offered, and who chose."""

from typing import Any

from remora.errors import NotFound, StreamDamaged
from remora.memory.packet import Candidate
from remora.web.agent_records import TurnRecord


def candidates(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the candidates of the turn and its decision."""
    calls = turn.data(step.event for step in turn.events.calls)
    call = calls[-1] if calls else None
    problem, offered = "", tuple[Candidate, ...]()
    try:
        offered = turn.packet().candidate_actions
    except (StreamDamaged, NotFound) as error:
        problem = error.with_hint
    choice = call.get("choice") if call else None
    rows = [
        {"number": number + 1, "candidate": candidate, "is_chosen": number == choice}
        for number, candidate in enumerate(offered)
    ]
    return {"call": call, "rows": rows, "problem": problem}
