"""The packet and the lines of any turn, from a packet that was kept nearby."""

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
from remora.trace.content.byte_source import Source
from remora.trace.content.line_format import Line, ended_lines
from remora.trace.index.index_database import IndexLies, IndexUnusable, database
from remora.trace.index.index_update import update_one
from remora.trace.index.row_check import follows
from remora.trace.index.row_codec import Known, forget, snapshot_before, turn_of
from remora.trace.index.rows import Snapshot
from remora.trace.read.reader import last_event, opened, read_events
from remora.trace.read.state_at import FileAt, Moment, files_at, moment_at, no_turn
from remora.trace.trace_folder import TraceFolder

_PIECE = 1 << 16
"""Bytes that are read at a time where few are wanted."""
_Answer = TypeVar("_Answer")


class _InTurn(msgspec.Struct):
    turn: int


_TURN = msgspec.json.Decoder(_InTurn)


class PacketReader:
    """What was before an agent's decisions. With `indexed` a turn of a long stream is reached by
    its place; what comes from the index is believed where the stream confirms it."""

    def __init__(self, folder: TraceFolder, *, indexed: bool = True) -> None:
        self._folder = folder
        self._indexed = indexed

    def packet_at(self, agent_id: str, turn: int, *, shown: bool = True) -> DecisionPacket:
        """As `restore.packet_at` gives it from all events. Raises as that does, and NotFound for
        an agent that is not there."""
        path = self._folder.existing_agent(agent_id)
        near = self._near(path, turn)
        with opened(path) as source:
            moment = near and _restored(source, turn, *near, path)
            if moment is None or not _confirmed(moment, shown=shown):
                whole = moment_at(_events(ended_lines(source), path), turn)
                if near is not None and moment != whole:
                    self._forget(path)
                moment = whole
        return moment.shown() if shown else moment.packet

    def turn_events(self, agent_id: str, turn: int) -> list[Event]:
        """The events of one turn. Raises NotFound for a turn that is not there, StreamDamaged."""
        path = self._folder.existing_agent(agent_id)
        return [*_events(self._turn_lines(agent_id, turn), path)]

    def turn_lines(self, agent_id: str, turn: int) -> list[bytes]:
        """The recorded lines of one turn, without newlines. Raises as `turn_events` does."""
        return [line.raw for line in self._turn_lines(agent_id, turn)]

    def last_turn(self, agent_id: str) -> int:
        """The turn of the last event. Raises NotFound, StreamDamaged."""
        last = last_event(self._folder.existing_agent(agent_id))
        if last is None:
            raise StreamDamaged(f"{agent_id}: the stream is empty", hint="remora trace verify")
        return last.turn

    def files_at(self, agent_id: str, turn: int) -> dict[str, FileAt]:
        """As `restore.files_at` gives it from the run's and the agent's events."""
        path = self._folder.existing_agent(agent_id)
        last = last_event(path)
        run_id = "" if last is None else last.run_id
        run = read_events(self._folder.existing_run(run_id))
        return files_at(run, read_events(path), turn)

    def _near(self, path: Path, turn: int) -> tuple[Snapshot, DecisionPacket] | None:
        """A packet that was kept before a turn; None without one or without an index."""
        return self._ask(path, turn, lambda index, known: snapshot_before(index, known, turn))

    def _turn_lines(self, agent_id: str, turn: int) -> list[Line]:
        path = self._folder.existing_agent(agent_id)
        rows = self._ask(path, turn, lambda index, known: turn_of(index, known, turn))
        with opened(path) as source:
            found = _lines_of(source, turn, rows[0].begin, path) if rows else []
            # what the index says is believed if the turn begins there
            if not rows or not found or found[0].offset != rows[0].begin:
                found = _lines_of(source, turn, 0, path)
            if not found:
                raise no_turn(turn, [_turn(line, path) for line in ended_lines(source)])
        return found

    def _ask(
        self, path: Path, turn: int, question: Callable[[Connection, Known], _Answer | None]
    ) -> _Answer | None:
        """What the index says of a stream; nothing where there is no index."""
        for fresh in (False, True) if self._indexed else ():
            try:
                with database(self._folder.path, fresh=fresh) as index:
                    known = update_one(index, path, turn)
                    return None if known is None else question(index, known)
            except IndexLies:
                continue
            except IndexUnusable:
                break
        return None

    def _forget(self, path: Path) -> None:
        """What the index holds of the stream led to a wrong packet: it is built again."""

        def drop(index: Connection, known: Known) -> None:
            with transaction(index):
                forget(index, known.id)

        self._ask(path, -1, drop)


def _restored(
    source: Source, turn: int, snapshot: Snapshot, packet: DecisionPacket, path: Path
) -> Moment | None:
    """The decision of a turn from a packet that was kept; None if the stream is not as it was."""
    with suppress(RemoraError):  # whatever it is, reading from the beginning tells it right
        if follows(source, snapshot.offset, snapshot.hash):
            lines = ended_lines(source, snapshot.offset, piece=_PIECE)
            return moment_at(_events(lines, path), turn, packet)
    return None


def _confirmed(moment: Moment, *, shown: bool) -> bool:
    """Whether the decision itself says that this was its packet. It names the trimmed one: of
    what was trimmed away it knows nothing."""
    if moment.sha256 is None or (moment.trim and not shown):
        return False
    with suppress(RecursionError):  # a foreign packet, nested without end
        return canonical_sha256(moment.shown()) == moment.sha256
    return False


def _lines_of(source: Source, turn: int, begin: int, path: Path) -> list[Line]:
    """The lines of a turn, read from byte `begin` on to the first line of a later turn."""
    lines = ended_lines(source, begin, piece=_PIECE if begin else None)
    numbered = ((_turn(line, path), line) for line in lines)
    return [line for number, line in takewhile(lambda n: n[0] <= turn, numbered) if number == turn]


def _events(lines: Iterable[Line], path: Path) -> Iterator[Event]:
    for line in lines:
        try:
            yield decode_event(line.raw)
        except (ValueError, RecursionError) as error:
            raise _damaged(line, path) from error


def _turn(line: Line, path: Path) -> int:
    try:
        return _TURN.decode(line.raw).turn
    except (ValueError, RecursionError) as error:
        raise _damaged(line, path) from error


def _damaged(line: Line, path: Path) -> StreamDamaged:
    return StreamDamaged(
        f"{path.name}: what is at byte {line.offset} is no event",
        hint="`remora trace verify` tells what happened",
    )
