"""Questions to all streams of a folder, answered from the index or without it."""

import os
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from remora.errors import DiskError, NotFound, UsageError
from remora.trace.index.index_database import NAME, IndexLies, IndexUnusable, database
from remora.trace.index.index_update import forget_gone, update_all
from remora.trace.index.keys import KINDS, IndexKey, TraceKey, parse_key
from remora.trace.index.row_queries import chosen, entry_line, fitting, listed_keys, with_text
from remora.trace.index.row_sources import Backend, Index, Scan
from remora.trace.read.reader import list_streams
from remora.trace.read.store_queries import StreamMatch, StreamQuery, TraceQueries
from remora.trace.stream.line_builder import Clock, utc_now
from remora.trace.trace_folder import TraceFolder, stream_id


class Reindexed(msgspec.Struct, frozen=True, kw_only=True):
    """What an index was built from: streams, rows, bytes of their files, and in which time."""

    streams: int
    turns: int
    bytes: int
    seconds: float


def trace_queries(
    folder: TraceFolder, store: str = "kv", indexing: Sequence[str] = KINDS, clock: Clock = utc_now
) -> TraceQueries:
    """What answers for a folder under `runner.memory.trace_store` and `.trace_indexing`."""
    backend = Index(folder) if store == "kv" else Scan(folder)
    return Queries(folder, backend, indexing, clock)


def reindex(folder: TraceFolder) -> Reindexed:
    """Throw the index away and build it again. Raises DiskError where it cannot be written."""
    began = time.monotonic()
    try:
        with database(folder.path, fresh=True) as connection:
            known = update_all(connection, folder)
    except (IndexUnusable, IndexLies) as error:
        raise DiskError(f"{folder.path}: the index cannot be built: {error}") from error
    return Reindexed(
        streams=len(known),
        turns=sum(each.turns for each in known),
        bytes=sum(each.stamp.size for each in known),
        seconds=time.monotonic() - began,
    )


def prune(folder: TraceFolder) -> None:
    """Let nothing of streams that are gone remain in the index; it need not be there.

    Raises DiskError where it cannot be written.
    """
    if not os.path.lexists(folder.path / NAME):
        return
    try:
        with database(folder.path) as connection:
            forget_gone(connection, {stream_id(path) for path in folder.agent_streams()})
    except IndexLies:
        reindex(folder)
    except IndexUnusable as error:
        raise DiskError(f"{folder.path}: the index cannot be written: {error}") from error


class Queries:
    """Answers with rows that a backend has, and lines from the streams themselves."""

    def __init__(
        self, folder: TraceFolder, backend: Backend, indexing: Sequence[str], clock: Clock
    ) -> None:
        self._folder = folder
        self._backend = backend
        self._indexing = tuple(indexing)
        self._clock = clock

    def get(self, key: str) -> dict[str, Any] | list[str]:
        """As the protocol says."""
        parsed = parse_key(key)
        if isinstance(parsed, IndexKey):
            if parsed.kind not in self._indexing:
                raise NotFound(
                    f"{key}: nothing is indexed by {parsed.kind}",
                    hint="runner.memory.trace_indexing in remora.yaml says what is",
                )
            return self._backend.ask(lambda rows: listed_keys(rows, parsed))
        entry: dict[str, Any] = msgspec.json.decode(self._line(parsed))
        return entry

    def line(self, key: str) -> bytes:
        """As the protocol says."""
        parsed = parse_key(key)
        if isinstance(parsed, IndexKey):
            raise UsageError(f"{key} names many entries", hint="ask for the key of one")
        return self._line(parsed)

    def find(self, query: StreamQuery) -> list[StreamMatch]:
        """As the protocol says."""
        now, infos = self._clock(), chosen(list_streams(self._folder), query)
        if not query.of_turns():
            return [StreamMatch(stream=info) for info in infos]
        candidates = self._backend.ask(lambda rows: fitting(rows, infos, query, now))
        return with_text(self._folder, candidates, query.text)

    def _line(self, key: TraceKey) -> bytes:
        return self._backend.ask(lambda rows: entry_line(self._folder, rows, key))
