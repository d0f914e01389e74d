"""Row backends, which read the index database or scan the streams."""

from collections.abc import Callable
from sqlite3 import Connection
from typing import Protocol, TypeVar

from remora.errors import StreamDamaged
from remora.trace.index.index_database import IndexCorrupted, IndexUnusable, database
from remora.trace.index.index_update import agent_stream_paths, read_rows, update_all
from remora.trace.index.row_codec import IndexedStream, load_turn, load_turns
from remora.trace.index.row_queries import RowSource
from remora.trace.index.rows import StreamRow, TurnRow
from remora.trace.trace_folder import TraceFolder

_Answer = TypeVar("_Answer")


class RowBackend(Protocol):
    """Runs queries on up-to-date rows of a folder's streams."""

    def ask(self, question: Callable[[RowSource], _Answer]) -> _Answer:
        """Call `question` with the rows, and return its result.

        `question` may be called twice, and must not keep a reference to the rows.
        """


class ScanBackend:
    """Backend that scans the streams and writes nothing."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder

    def ask(self, question: Callable[[RowSource], _Answer]) -> _Answer:
        try:
            return question(_Scanned(self._folder))
        except IndexCorrupted as error:
            raise StreamDamaged(
                "a stream was rewritten while it was being read", hint="run `remora trace verify`"
            ) from error


class IndexBackend:
    """Backend that updates and reads `index.db`.

    Rebuilds the index if it is corrupted. Scans the streams if the index cannot be used.
    """

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder

    def ask(self, question: Callable[[RowSource], _Answer]) -> _Answer:
        for fresh in (False, True):
            try:
                with database(self._folder.path, fresh=fresh) as connection:
                    return question(_Indexed(connection, self._folder))
            except IndexCorrupted:
                continue
            except IndexUnusable:
                break
        return ScanBackend(self._folder).ask(question)


class _Indexed:
    """Rows from the index. The index is updated when this object is created."""

    def __init__(self, connection: Connection, folder: TraceFolder) -> None:
        self._connection = connection
        known = update_all(connection, folder)
        self._known: dict[str, IndexedStream] = {each.stream.agent_id: each for each in known}

    def streams(self) -> list[StreamRow]:
        """Return the streams that contain an event and so have a start time."""
        return [each.stream for each in self._known.values() if each.stream.started]

    def turns(self, agent_id: str) -> list[TurnRow]:
        known = self._known.get(agent_id)
        return load_turns(self._connection, known) if known else []

    def turn(self, agent_id: str, turn: int) -> list[TurnRow]:
        known = self._known.get(agent_id)
        return load_turn(self._connection, known, turn) if known else []


class _Scanned:
    """Rows of scanned streams. Each stream is read on first use."""

    def __init__(self, folder: TraceFolder) -> None:
        self._paths = agent_stream_paths(folder)
        self._read: dict[str, tuple[StreamRow | None, list[TurnRow]]] = {}

    def streams(self) -> list[StreamRow]:
        streams = (self._rows(agent_id)[0] for agent_id in self._paths)
        return [stream for stream in streams if stream is not None]

    def turns(self, agent_id: str) -> list[TurnRow]:
        return self._rows(agent_id)[1]

    def turn(self, agent_id: str, turn: int) -> list[TurnRow]:
        return [row for row in self.turns(agent_id) if row.turn == turn]

    def _rows(self, agent_id: str) -> tuple[StreamRow | None, list[TurnRow]]:
        if agent_id not in self._read:
            path = self._paths.get(agent_id)  # a listed stream may have expired
            self._read[agent_id] = (None, []) if path is None else read_rows(path)
        return self._read[agent_id]
