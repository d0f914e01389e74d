"""Keys of recorded turns: `trace:...` keys for single entries and `index:...` keys for groups."""

import re

import msgspec

from remora.errors import UsageError

KINDS = ("node", "run", "operation")
_TRACE = re.compile(
    r"trace:([^:]*):([^:]*):(.*):(\d{1,18})(?:#([1-9]\d{0,17}))?(?:@([a-z0-9][a-z0-9._-]{0,63}))?",
    re.DOTALL | re.ASCII,
)


class TraceKey(msgspec.Struct, frozen=True, kw_only=True):
    """Key of one call in one turn.

    If `agent_id` is None, the key refers to the newest agent that has this entry.
    """

    run_id: str
    operation: str
    node_id: str
    turn: int
    call: int = 1
    agent_id: str | None = None

    def __str__(self) -> str:
        call = "" if self.call == 1 else f"#{self.call}"
        agent = "" if self.agent_id is None else f"@{self.agent_id}"
        return f"{job_key(self.run_id, self.operation, self.node_id)}:{self.turn}{call}{agent}"


class IndexKey(msgspec.Struct, frozen=True, kw_only=True):
    """Key of all entries of a node, a run or an operation."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"index:{self.kind}:{self.value}"


def job_key(run_id: str, operation: str, node_id: str) -> str:
    """Return the common prefix of the keys of a job's turns."""
    return f"trace:{run_id}:{operation}:{node_id}"


def parse_key(text: str) -> TraceKey | IndexKey:
    """Parse a key. Raises UsageError if it is invalid."""
    if found := _TRACE.fullmatch(text):
        run_id, operation, node_id, turn, call, agent_id = found.groups()
        return TraceKey(
            run_id=run_id,
            operation=operation,
            node_id=node_id,
            turn=int(turn),
            call=int(call or 1),
            agent_id=agent_id,
        )
    head, _, rest = text.partition(":")
    kind, colon, value = rest.partition(":")
    if head == "index" and kind in KINDS and colon:
        return IndexKey(kind=kind, value=value)
    raise UsageError(
        f"{text!r} is not a valid key",
        hint="use trace:RUN:OPERATION:NODE:TURN or index:node|run|operation:NAME",
    )
