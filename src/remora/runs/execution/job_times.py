"""The durations, decisions and tokens of a job, read from its stream."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from remora.chat import Usage
from remora.memory.events import AgentEnd, AgentStart, Event, ModelRequest, ModelResponse
from remora.trace.read.reader import decode_part


class JobTimes(msgspec.Struct, frozen=True, kw_only=True):
    """A job with the model `model` of `provider`.

    `seconds` includes the `model_seconds` of its questions.
    """

    provider: str
    model: str
    seconds: float
    model_seconds: float
    decisions: int
    prompt_tokens: int
    answer_tokens: int


class _Start(msgspec.Struct):
    model: dict[str, Any] = {}


class _Asked(msgspec.Struct):
    prompt_tokens: int = 0


class _Answered(msgspec.Struct):
    usage: Usage = Usage()


def job_times(events: Iterable[Event]) -> JobTimes | None:
    """Return the times of a job whose events these are, or None if it has not ended.

    Raises StreamDamaged if an event is invalid.
    """
    found = _Times()
    for event in events:
        found.add(event)
    return found.result()


class _Times:
    def __init__(self) -> None:
        self._model: dict[str, Any] = {}
        self._began: datetime | None = None
        self._ended: datetime | None = None
        self._asked: tuple[datetime, int] | None = None
        """When the open question was asked, and its number of tokens."""
        self._model_seconds = 0.0
        self._turns: set[int] = set()
        self._prompt_tokens = 0
        self._answer_tokens = 0

    def add(self, event: Event) -> None:
        now = datetime.fromisoformat(event.timestamp)
        if self._asked is not None:
            self._add_question(event, *self._asked, now)
            self._asked = None
        if event.type == AgentStart.type:
            self._began = now
            self._model = decode_part(event, _Start).model
        elif event.type == ModelRequest.type:
            self._asked = now, decode_part(event, _Asked).prompt_tokens
        elif event.type == AgentEnd.type:
            self._ended = now

    def _add_question(self, event: Event, asked: datetime, tokens: int, now: datetime) -> None:
        """Add a question that `event` ended, with an answer or an error."""
        self._model_seconds += max(0.0, (now - asked).total_seconds())
        self._turns.add(event.turn)
        if event.type == ModelResponse.type:
            usage = decode_part(event, _Answered).usage
            self._prompt_tokens += usage.prompt_tokens or tokens
            self._answer_tokens += usage.completion_tokens or 0

    def result(self) -> JobTimes | None:
        if self._began is None or self._ended is None:
            return None
        return JobTimes(
            provider=str(self._model.get("provider", "")),
            model=str(self._model.get("name", "")),
            seconds=max(0.0, (self._ended - self._began).total_seconds()),
            model_seconds=self._model_seconds,
            decisions=len(self._turns),
            prompt_tokens=self._prompt_tokens,
            answer_tokens=self._answer_tokens,
        )
