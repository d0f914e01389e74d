"""What was before a decision: the packet that a turn saw, and the files that it left."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import msgspec

from remora.errors import NotFound, StreamDamaged, StreamError
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
from remora.memory.versions import unknown_version
from remora.trace.read.reader import decode_part

_DECISIONS = frozenset({ModelRequest.type, ToolCalled.type, AgentError.type})
_HINT = "`remora trace verify` tells what happened"


class FileState(NamedTuple):
    """A file by the SHA-256 of its bytes (in `objects/`; null: not there) and permission bits."""

    sha256: str | None
    mode: int


class DecisionState(NamedTuple):
    """A turn's decision: the packet before it, how often that was trimmed, and the hash that the
    decision names of the trimmed one (None where the turn came to no decision)."""

    packet: DecisionPacket
    trim: int
    sha256: str | None

    def shown(self) -> DecisionPacket:
        """The packet as the decider saw it."""
        return trim(self.packet, self.trim)


def packet_at(events: Iterable[Event], turn: int, *, shown: bool = True) -> DecisionPacket:
    """The packet of turn `turn`'s decision: as shown, or with `shown=False` before it was trimmed.

    Of a turn that never came to a decision it is the packet when the turn ended; of turn 0
    what the first turn starts from. Where a resumed turn decided twice, the later counts.
    Raises NotFound for a turn that the stream does not have, StreamDamaged for no agent's stream,
    StreamError for one that was folded or trimmed by rules that this version does not know.
    """
    moment = decision_at(events, turn)
    return moment.shown() if shown else moment.packet


def decision_at(
    events: Iterable[Event], turn: int, packet: DecisionPacket | None = None
) -> DecisionState:
    """The decision of turn `turn`. With `packet`, that is what it is before the first of `events`,
    which is then the first of its turn. Raises as `packet_at` does."""
    decided: DecisionState | None = None
    stream, first, seen = iter(events), 0, 0
    for event in stream:
        if packet is not None and event.turn > turn >= 0:
            if seen < turn:
                raise turn_not_found(turn, [event.turn, *(later.turn for later in stream)])
            break
        first, seen = first or event.turn, max(seen, event.turn)
        if packet is None:
            packet = start_packet(event)
            seen = max(seen, _begun(packet, turn))
        elif event.turn == turn and (named := _decision(event)) is not None:
            decided = DecisionState(packet, *named)
        packet = packet and _applied(packet, event)
    if packet is None:
        raise StreamDamaged("no agent_start in the stream", hint="only agents have packets")
    if turn < 0 or seen < turn:
        raise turn_not_found(turn, [first, seen])
    return decided or DecisionState(packet, 0, None)


def turn_not_found(turn: int, turns: list[int]) -> NotFound:
    """The error for a turn that is not among those of a stream; a fork's do not begin with 1."""
    there = [number for number in turns if number > 0]
    hint = f"its turns are {min(there)} to {max(there)}" if there else "it has no turns yet"
    return NotFound(f"no turn {turn} in the stream", hint=hint)


def _begun(packet: DecisionPacket | None, turn: int) -> int:
    """The turn that a stream begins in: a fork's is its packet's. Raises NotFound for an earlier
    `turn`, but for 0, which is what the stream starts from."""
    begun = packet.turn if packet is not None else 0
    if 0 < turn < begun:
        hint = f"it is a fork and begins with turn {begun}; its parent has the earlier ones"
        raise NotFound(f"no turn {turn} in the stream", hint=hint)
    return begun


def start_packet(event: Event) -> DecisionPacket | None:
    """The packet that an `agent_start` holds, before its own delta; None for any other event.

    Raises StreamDamaged, or StreamError for rules of folding that are not known here.
    """
    if event.type != AgentStart.type:
        return None
    start = decode_part(event, _Started)
    unknown = unknown_version(start.fold, start.trim)
    if unknown is not None:
        raise StreamError(
            f"{event.agent_id}: {unknown}",
            hint="a newer version of Remora wrote this stream; read it with that",
        )
    return start.packet


def files_at(
    run_events: Iterable[Event], agent_events: Iterable[Event], turn: int
) -> dict[str, FileState]:
    """The files that differ from the base commit after turn `turn`, by root-relative path.

    From below to the top: the run's base (files that differ from the commit, or all selected ones
    without git), what of it had moved on when the agent began (`rebased`), what the agent began
    with (`changes` of a fork), the agent's own changes up to that turn, inclusive.
    Raises StreamDamaged if the run's stream has no usable `run_start`.
    """
    files = _base(run_events)
    for event in agent_events:
        if event.turn > turn:
            break
        if event.type == AgentStart.type:
            files |= _files(decode_part(event, _Rebased).rebased or {}, AgentStart.type)
        if event.type in (AgentStart.type, ToolResulted.type):
            changes = decode_part(event, _Changes).changes
            files.update({change.path: FileState(change.after, change.mode) for change in changes})
    return files


def _applied(packet: DecisionPacket, event: Event) -> DecisionPacket:
    try:
        return apply(packet, event.packet_delta)
    except RecursionError as error:
        raise StreamDamaged(
            f"{event.agent_id}: event {event.seq} is nested too deeply to be folded", hint=_HINT
        ) from error


# Only the parts that are needed are decoded: another field may stand as a blob's reference.
class _Started(msgspec.Struct):
    packet: DecisionPacket
    fold: str = "fold/1"
    trim: str = "trim/1"


class _Shown(msgspec.Struct):
    packet_sha256: str | None = None
    trim: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None


class _Changes(msgspec.Struct):
    changes: tuple[Change, ...] = ()


class _Rebased(msgspec.Struct):
    rebased: dict[str, Any] | None = None


class _Base(msgspec.Struct, frozen=True):
    files: dict[str, Any] = {}


class _RunStarted(msgspec.Struct):
    base: _Base = _Base()


def _decision(event: Event) -> tuple[int, str] | None:
    """How often the packet that this event was decided on was trimmed, and its hash."""
    if event.type not in _DECISIONS:
        return None
    named = decode_part(event, _Shown)
    return (named.trim or 0, named.packet_sha256) if named.packet_sha256 else None


def _base(run_events: Iterable[Event]) -> dict[str, FileState]:
    for event in run_events:
        if event.type == RunStart.type:
            return _files(decode_part(event, _RunStarted).base.files, RunStart.type)
    raise StreamDamaged("no run_start in the run's stream", hint=_HINT)


def _files(files: dict[str, Any], where: str) -> dict[str, FileState]:
    return {path: _file(path, told, where) for path, told in files.items()}


def _file(path: str, told: object, where: str) -> FileState:
    match told:
        case None:
            return FileState(None, 0)
        case {"sha256": str(digest), "mode": int(mode)}:
            return FileState(digest, mode)
    raise StreamDamaged(f"{where} tells no content of {path}", hint=_HINT)
