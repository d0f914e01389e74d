"""The cause of a failure: its kind, its turn, one sentence, and the events that show it."""

from collections.abc import Callable
from typing import Literal

import msgspec

from remora.runs.diagnosis.agent_history import AgentHistory
from remora.runs.diagnosis.failure import Failure
from remora.text import clip

Kind = Literal[
    "context_truncated",
    "answer_truncated",
    "time_out",
    "model_failed",
    "bad_answer",
    "conflict",
    "stale_fact",
    "budget_dropped",
    "summary_lost",
    "tool_crash",
    "refused_edit",
    "tool_error",
    "argument_not_in_packet",
    "undecided",
    "wrong_choice",
    "loop",
    "turn_limit",
    "check_failed",
    "no_actions",
    "internal_error",
    "interrupted",
    "running",
    "no_change",
    "submitted",
    "unknown",
]
_QUOTED = 160


class Evidence(msgspec.Struct, frozen=True):
    """What an event of a turn shows. `seq` is null for what follows from several events."""

    turn: int
    seq: int | None
    text: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent failed. `turn` is null if no turn is to blame.

    `look_at` is the turn whose packet shows the cause, if it is another one.
    """

    kind: Kind
    turn: int | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    look_at: int | None = None


Rule = Callable[[AgentHistory, Failure], Cause | None]
"""Returns the cause of a failure if the rule recognizes it."""


def quoted(text: str) -> str:
    """Return a message on one line, cut to a length that fits in a sentence."""
    return clip(" ".join(text.split()), _QUOTED).rstrip(". ")
