"""The tab *Why*: the cause of the agent's failure, and the evidence."""

from typing import Any

from remora.web.agent_records import TurnRecord


def why(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the diagnosis of the turn's agent."""
    return {"diagnosis": turn.agent.diagnosis}
