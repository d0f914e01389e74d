"""What was before a decision: the packet that a turn saw, and the files that it left."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged
from remora.memory.budget import trim
from remora.memory.events import (
    AgentError,
    AgentStart,
    Change,
    Event,
    ModelRequest,
    RunStart,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.reader import part

_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})
_HINT = "`remora trace verify` tells what happened"


class FileAt(NamedTuple):
    """A file by the SHA-256 of its bytes (in `objects/`; null: not there) and permission bits."""

    sha256: str | None
    mode: int


def packet_at(events: Iterable[Event], turn: int, *, shown: bool = True) -> DecisionPacket:
    """The packet of turn `turn`'s decision: as shown, or with `shown=False` before it was trimmed.

    Of a turn that never came to a decision it is the packet when the turn ended; of turn 0
    what the first turn starts from. Where a resumed turn decided twice, the later counts.
    Raises NotFound for a turn that the stream does not have, StreamDamaged for no agent's stream.
    """
    packet: DecisionPacket | None = None
    decided: DecisionPacket | None = None
    seen = 0
    for event in events:
        if packet is not None and event.turn > turn >= 0:
            break
        seen = max(seen, event.turn)
        if packet is None:
            packet = _first_packet(event)
        elif event.turn == turn and (named := _decision(event)) is not None:
            decided = trim(packet, named) if shown else packet
        packet = packet and apply(packet, event.packet_delta)
    if packet is None:
        raise StreamDamaged("no agent_start in the stream", hint="only agents have packets")
    if turn < 0 or seen < turn:
        raise NotFound(f"no turn {turn} in the stream", hint=f"its turns are 1 to {seen}")
    return decided or packet


def files_at(
    run_events: Iterable[Event], agent_events: Iterable[Event], turn: int
) -> dict[str, FileAt]:
    """The files that differ from the base commit after turn `turn`, by root-relative path.

    They are the run's base (files that differ from the commit, or all selected ones without
    git) with the agent's changes up to that turn, inclusive, on top.
    Raises StreamDamaged if the run's stream has no usable `run_start`.
    """
    files = _base(run_events)
    for event in agent_events:
        if event.turn <= turn and event.type == ToolResulted.type:
            changes = part(event, _Changes).changes
            files.update({change.path: FileAt(change.after, change.mode) for change in changes})
    return files


# Only the parts that are needed are decoded: another field may stand as a blob's reference.
class _Started(msgspec.Struct):
    packet: DecisionPacket


class _Shown(msgspec.Struct):
    packet_sha256: str | None = None
    trim: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None


class _Changes(msgspec.Struct):
    changes: tuple[Change, ...] = ()


class _Base(msgspec.Struct, frozen=True):
    files: dict[str, Any] = {}


class _RunStarted(msgspec.Struct):
    base: _Base = _Base()


def _first_packet(event: Event) -> DecisionPacket | None:
    return part(event, _Started).packet if event.type == AgentStart.type else None


def _decision(event: Event) -> int | None:
    """How often the packet that this event was decided on was trimmed, if it names one."""
    if event.type not in _DECISIONS:
        return None
    named = part(event, _Shown)
    return (named.trim or 0) if named.packet_sha256 else None


def _base(run_events: Iterable[Event]) -> dict[str, FileAt]:
    for event in run_events:
        if event.type == RunStart.type:
            files = part(event, _RunStarted).base.files
            return {path: _file(path, told) for path, told in files.items()}
    raise StreamDamaged("no run_start in the run's stream", hint=_HINT)


def _file(path: str, told: object) -> FileAt:
    match told:
        case None:
            return FileAt(None, 0)
        case {"sha256": str(digest), "mode": int(mode)}:
            return FileAt(digest, mode)
    raise StreamDamaged(f"run_start tells no content of {path}", hint=_HINT)
