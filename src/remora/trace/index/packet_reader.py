"""Random access to the packet and the events of any turn, using index snapshots."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

import msgspec

from remora.errors import RemoraError, StreamDamaged
from remora.files.disposable_sqlite import transaction
from remora.memory.canonical import canonical_sha256
from remora.memory.events import Event, decode_event
from remora.memory.packet import DecisionPacket
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import Line, complete_lines
from remora.trace.index.index_database import IndexCorrupted, IndexUnusable, database
from remora.trace.index.index_update import update_stream
from remora.trace.index.row_check import ends_with_hash
from remora.trace.index.row_codec import (
    IndexedStream,
    delete_stream_rows,
    load_turn,
    snapshot_before,
)
from remora.trace.index.rows import Snapshot
from remora.trace.read.reader import last_event, open_stream
from remora.trace.read.state_at import (
    DecisionState,
    decision_at,
    turn_not_found,
)
from remora.trace.trace_folder import TraceFolder

_PIECE = 1 << 16  # bytes per read if only a few lines are needed
_Answer = TypeVar("_Answer")


class _InTurn(msgspec.Struct):
    turn: int


_TURN = msgspec.json.Decoder(_InTurn)


class PacketReader:
    """Reads the state before an agent's decisions.

    Results from the index are used only if the stream confirms them.
    """

    def __init__(self, folder: TraceFolder, *, indexed: bool = True) -> None:
        self._folder = folder
        self._indexed = indexed

    def packet_at(
        self, agent_id: str, turn: int, *, shown: bool = True, called: bool = False
    ) -> DecisionPacket:
        """Return the decision packet of a turn, as defined by `state_at.packet_at`.

        Raises NotFound if the agent is unknown, and whatever `state_at.packet_at` raises.
        """
        path = self._folder.existing_agent(agent_id)
        near = self._snapshot_near(path, turn)
        with open_stream(path) as source:
            state = near and _decision_from_snapshot(source, turn, *near, path, called=called)
            if state is None or not _is_confirmed(state, shown=shown):
                full_state = decision_at(_events(complete_lines(source), path), turn, called=called)
                if near is not None and state != full_state:
                    self._forget(path)
                state = full_state
        return state.shown() if shown else state.packet

    def turn_events(self, agent_id: str, turn: int) -> list[Event]:
        """Return the events of a turn.

        Raises NotFound if the agent or turn does not exist, and StreamDamaged if the stream is
        invalid.
        """
        path = self._folder.existing_agent(agent_id)
        return [*_events(self._turn_lines(agent_id, turn), path)]

    def turn_lines(self, agent_id: str, turn: int) -> list[bytes]:
        """Return the recorded lines of a turn, without newlines.

        Raises NotFound if the agent or turn does not exist, and StreamDamaged if the stream is
        invalid.
        """
        return [line.raw for line in self._turn_lines(agent_id, turn)]

    def last_turn(self, agent_id: str) -> int:
        """Return the turn number of the agent's last event.

        Raises NotFound if the agent is unknown, and StreamDamaged if the stream is empty or
        invalid.
        """
        if (last := last_event(self._folder.existing_agent(agent_id))) is None:
            raise StreamDamaged(
                f"{agent_id}: the stream is empty", hint="check it with `remora trace verify`"
            )
        return last.turn

    def _snapshot_near(self, path: Path, turn: int) -> tuple[Snapshot, DecisionPacket] | None:
        """Return the last packet snapshot at or before the start of a turn.

        Returns None if there is no such snapshot or the index cannot be used.
        """
        return self._ask(path, turn, lambda index, known: snapshot_before(index, known, turn))

    def _turn_lines(self, agent_id: str, turn: int) -> list[Line]:
        path = self._folder.existing_agent(agent_id)
        rows = self._ask(path, turn, lambda index, known: load_turn(index, known, turn))
        with open_stream(path) as source:
            found = list[Line]()
            if rows:
                with suppress(StreamDamaged):  # reading from the beginning reports the error
                    found = _lines_of(source, turn, rows[0].begin, path)
            # use the index's offset only if the turn begins there
            if not rows or not found or found[0].offset != rows[0].begin:
                found = _lines_of(source, turn, 0, path)
            if not found:
                raise turn_not_found(turn, [_turn(line, path) for line in complete_lines(source)])
        return found

    def _ask(
        self, path: Path, turn: int, question: Callable[[Connection, IndexedStream], _Answer | None]
    ) -> _Answer | None:
        """Query the index about a stream. Return None if the index cannot be used or does not
        contain the stream.
        """
        for fresh in (False, True) if self._indexed else ():
            try:
                with database(self._folder.path, fresh=fresh) as index:
                    known = update_stream(index, path, turn)
                    return None if known is None else question(index, known)
            except IndexCorrupted:
                continue
            except IndexUnusable:
                break
        return None

    def _forget(self, path: Path) -> None:
        """Delete the stream's rows because they led to a wrong packet. The next query rebuilds
        them.
        """

        def drop(index: Connection, known: IndexedStream) -> None:
            with transaction(index):
                delete_stream_rows(index, known.id)

        self._ask(path, -1, drop)


def _decision_from_snapshot(
    source: ByteSource,
    turn: int,
    snapshot: Snapshot,
    packet: DecisionPacket,
    path: Path,
    *,
    called: bool,
) -> DecisionState | None:
    """Return the decision of a turn, reading the stream from a snapshot onward.

    Returns None if the stream does not match the snapshot.
    """
    with suppress(RemoraError):  # reading from the beginning reports the error
        if ends_with_hash(source, snapshot.offset, snapshot.hash):
            lines = complete_lines(source, snapshot.offset, piece=_PIECE)
            return decision_at(_events(lines, path), turn, packet, called=called)
    return None


def _is_confirmed(state: DecisionState, *, shown: bool) -> bool:
    """Return True if the packet matches the decision's recorded hash. The hash does not cover
    trimmed parts.
    """
    if state.sha256 is None or (state.trim and not shown):
        return False
    with suppress(RecursionError):  # an untrusted packet may be nested too deeply
        return canonical_sha256(state.shown()) == state.sha256
    return False


def _lines_of(source: ByteSource, turn: int, begin: int, path: Path) -> list[Line]:
    """Return the lines of a turn.

    Reading starts at byte `begin` and stops at the first line of a later turn.
    """
    lines = complete_lines(source, begin, piece=_PIECE if begin else None)
    numbered = ((_turn(line, path), line) for line in lines)
    return [line for number, line in takewhile(lambda n: n[0] <= turn, numbered) if number == turn]


def _events(lines: Iterable[Line], path: Path) -> Iterator[Event]:
    for line in lines:
        try:
            yield decode_event(line.raw)
        except (ValueError, RecursionError) as error:
            raise _damage_error(line, path) from error


def _turn(line: Line, path: Path) -> int:
    try:
        return _TURN.decode(line.raw).turn
    except (ValueError, RecursionError) as error:
        raise _damage_error(line, path) from error


def _damage_error(line: Line, path: Path) -> StreamDamaged:
    return StreamDamaged(
        f"{path.name}: the line at byte {line.offset} is not an event",
        hint="run `remora trace verify` for details",
    )
