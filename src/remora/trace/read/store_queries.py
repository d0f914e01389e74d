"""Conditions on streams and turns, and what matches them."""

import msgspec

from remora.trace.read.reader import StreamInfo


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on streams and turns. A condition of None matches everything.

    `run`, `operation`, `status`, `outcome`, `tool` and `decided_by` must match exactly. `node` is a
    name or a glob, either `path:qualname` or only a qualname. `since` and `until` are RFC 3339
    times, dates, or ages such as `90s`, `15m`, `2h`, `3d` or `1w`. `text` must occur in a recorded
    line or blob, ignoring case.
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
        """Return True if the query has conditions on turns."""
        asked = (self.outcome, self.tool, self.decided_by, self.since, self.until, self.text)
        return any(value is not None for value in asked)


class TurnMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A matching turn.

    `key` is the key of its trace entry, or None if the turn has no result. `call` is the number of
    the result within the turn, starting at 1. `outcome` is the outcome of the result. For a turn
    without a result, `outcome` is `error` if the turn ended with an error, and empty otherwise.
    `ms` is the tool's duration in milliseconds. `began` and `ended` are the times of the turn's
    first and last event.
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
    key: str | None = None


class StreamMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A matching stream and its matching turns. `turns` is empty if the query has no conditions on
    turns.
    """

    stream: StreamInfo
    turns: tuple[TurnMatch, ...] = ()
