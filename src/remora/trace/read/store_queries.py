"""What can be asked of all streams, whichever store holds them."""

from typing import Any, Protocol

import msgspec

from remora.trace.read.reader import StreamInfo


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which streams and turns are looked for; what is None does not matter.

    `run`, `operation`, `status`, `outcome`, `tool` and `decided_by` are exact; `node` is a name or
    a glob (`path:qualname` or a qualname); `since` and `until` are RFC 3339, a date, or ago
    (`90s`, `15m`, `2h`, `3d`, `1w`); `text` is part of a recorded line or blob, in any case.
    """

    run: str | None = None
    node: str | None = None
    operation: str | None = None
    status: str | None = None
    outcome: str | None = None
    tool: str | None = None
    decided_by: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None

    def of_turns(self) -> bool:
        """Whether anything is asked that only a turn can answer."""
        asked = (self.outcome, self.tool, self.decided_by, self.since, self.until, self.text)
        return any(value is not None for value in asked)


class TurnMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was found. `key` gets its trace entry; None where the turn has no result.

    `call` counts the results of one turn from 1. `outcome` is the result's, `error` for a turn
    that an error ended, empty for one that came to neither. `ms` are the tool's milliseconds.
    `began` and `ended` are the times of the turn's first and last event.
    """

    turn: int
    call: int
    tool: str
    outcome: str
    decided_by: str
    prompt_tokens: int | None
    ms: int | None
    began: str
    ended: str
    key: str | None


class StreamMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that was found, and which of its turns; none are told if nothing was asked of
    turns."""

    stream: StreamInfo
    turns: tuple[TurnMatch, ...] = ()


class TraceQueries(Protocol):
    """The asking half of a trace store. Every backend gives the same answers."""

    def get(self, key: str) -> dict[str, Any] | list[str]:
        """The trace entry of a `trace:` key, as recorded; of an `index:` key the `trace:` keys.

        Raises UsageError for what is no key, NotFound (naming the nearest) for one that nothing
        is recorded under, StreamDamaged for a line that is not what its hash says, DiskError.
        """

    def line(self, key: str) -> bytes:
        """The recorded line of a `trace:` key, without its newline. Raises as `get` does."""

    def find(self, query: StreamQuery) -> list[StreamMatch]:
        """The streams that fit, by agent_id. Raises UsageError for a time that is none."""
