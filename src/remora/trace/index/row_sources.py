"""The two places that rows come from: `index.db`, or every stream read for the occasion."""

from collections.abc import Callable
from sqlite3 import Connection
from typing import Protocol, TypeVar

from remora.errors import StreamDamaged
from remora.trace.index.index_database import IndexLies, IndexUnusable, database
from remora.trace.index.index_update import read_rows, streams_of, update_all
from remora.trace.index.row_codec import Known, turn_of, turns_of
from remora.trace.index.row_queries import Rows
from remora.trace.index.rows import StreamRow, TurnRow
from remora.trace.trace_folder import TraceFolder

_Answer = TypeVar("_Answer")


class Backend(Protocol):
    """Puts a question to the rows of a folder's streams, as they are now."""

    def ask(self, question: Callable[[Rows], _Answer]) -> _Answer:
        """The answer. A question may be put twice, and must not keep the rows."""


class Scan:
    """Reads the streams; writes nothing."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder

    def ask(self, question: Callable[[Rows], _Answer]) -> _Answer:
        """Raises what the question does."""
        try:
            return question(_Scanned(self._folder))
        except IndexLies as error:
            raise StreamDamaged(
                "a stream was rewritten while it was read", hint="`remora trace verify` tells more"
            ) from error


class Index:
    """Reads `index.db`, which is brought up to date first, and built anew where it is not what it
    should be. Where it cannot be had, the streams are read."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder

    def ask(self, question: Callable[[Rows], _Answer]) -> _Answer:
        """Raises what the question does."""
        for fresh in (False, True):
            try:
                with database(self._folder.path, fresh=fresh) as connection:
                    return question(_Indexed(connection, self._folder))
            except IndexLies:
                continue
            except IndexUnusable:
                break
        return Scan(self._folder).ask(question)


class _Indexed:
    """Rows of an index that was just brought up to date."""

    def __init__(self, connection: Connection, folder: TraceFolder) -> None:
        self._connection = connection
        known = update_all(connection, folder)
        self._known: dict[str, Known] = {each.stream.agent_id: each for each in known}

    def streams(self) -> list[StreamRow]:
        """Those with an event; `started` is never empty then."""
        return [each.stream for each in self._known.values() if each.stream.started]

    def turns(self, agent_id: str) -> list[TurnRow]:
        """All of them, counted."""
        known = self._known.get(agent_id)
        return turns_of(self._connection, known) if known else []

    def turn(self, agent_id: str, turn: int) -> list[TurnRow]:
        """Only those of one turn are read."""
        known = self._known.get(agent_id)
        return turn_of(self._connection, known, turn) if known else []


class _Scanned:
    """Rows read for the occasion; a stream is read when it is first asked for."""

    def __init__(self, folder: TraceFolder) -> None:
        self._paths = streams_of(folder)
        self._read: dict[str, tuple[StreamRow | None, list[TurnRow]]] = {}

    def streams(self) -> list[StreamRow]:
        """Every stream is read for it."""
        streams = (self._rows(agent_id)[0] for agent_id in self._paths)
        return [stream for stream in streams if stream is not None]

    def turns(self, agent_id: str) -> list[TurnRow]:
        """All of them."""
        return self._rows(agent_id)[1]

    def turn(self, agent_id: str, turn: int) -> list[TurnRow]:
        """Some of them."""
        return [row for row in self.turns(agent_id) if row.turn == turn]

    def _rows(self, agent_id: str) -> tuple[StreamRow | None, list[TurnRow]]:
        if agent_id not in self._read:
            path = self._paths.get(agent_id)  # what was listed may have expired since
            self._read[agent_id] = (None, []) if path is None else read_rows(path)
        return self._read[agent_id]
