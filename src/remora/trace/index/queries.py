"""Queries over all streams in a folder, with or without the index."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from remora.errors import DiskError, NotFound, UsageError
from remora.trace.index.index_database import IndexCorrupted, IndexUnusable, database
from remora.trace.index.index_update import update_all
from remora.trace.index.keys import KINDS, IndexKey, TraceKey, parse_key
from remora.trace.index.row_queries import (
    entry_keys,
    entry_line,
    matching_streams,
    matching_text,
    matching_turns,
)
from remora.trace.index.row_sources import IndexBackend, RowBackend, ScanBackend
from remora.trace.read.reader import list_streams
from remora.trace.read.store_queries import StreamMatch, StreamQuery, TraceQueries
from remora.trace.stream.line_builder import Clock, utc_now
from remora.trace.trace_folder import TraceFolder


class Reindexed(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of an index rebuild.

    `bytes` is the total size of the stream files, and `seconds` is the duration of the rebuild.
    """

    streams: int
    turns: int
    bytes: int
    seconds: float


def trace_queries(
    folder: TraceFolder, store: str = "kv", indexing: Sequence[str] = KINDS, clock: Clock = utc_now
) -> TraceQueries:
    """Return the query object for a trace folder.

    `store` and `indexing` are the settings `trace_store` and `trace_indexing` of `runner.memory`.
    """
    backend = IndexBackend(folder) if store == "kv" else ScanBackend(folder)
    return IndexQueries(folder, backend, indexing, clock)


def reindex(folder: TraceFolder) -> Reindexed:
    """Delete and rebuild the index. Raises DiskError if the index cannot be written."""
    began = time.monotonic()
    try:
        with database(folder.path, fresh=True) as connection:
            known = update_all(connection, folder)
    except (IndexUnusable, IndexCorrupted) as error:
        raise DiskError(f"{folder.path}: the index cannot be built: {error}") from error
    return Reindexed(
        streams=len(known),
        turns=sum(each.turns for each in known),
        bytes=sum(each.stamp.size for each in known),
        seconds=time.monotonic() - began,
    )


class IndexQueries:
    """Runs queries on the rows of a backend and the lines of the streams."""

    def __init__(
        self, folder: TraceFolder, backend: RowBackend, indexing: Sequence[str], clock: Clock
    ) -> None:
        self._folder = folder
        self._backend = backend
        self._indexing = tuple(indexing)
        self._clock = clock

    def get(self, key: str) -> dict[str, Any] | list[str]:
        parsed = parse_key(key)
        if isinstance(parsed, IndexKey):
            if parsed.kind not in self._indexing:
                raise NotFound(
                    f"{key}: entries are not indexed by {parsed.kind}",
                    hint="add it to runner.memory.trace_indexing in remora.yaml",
                )
            return self._backend.ask(lambda rows: entry_keys(rows, parsed))
        entry: dict[str, Any] = msgspec.json.decode(self._line(parsed))
        return entry

    def line(self, key: str) -> bytes:
        parsed = parse_key(key)
        if isinstance(parsed, IndexKey):
            raise UsageError(
                f"{key} matches more than one entry", hint="use the key of a single entry"
            )
        return self._line(parsed)

    def find(self, query: StreamQuery) -> list[StreamMatch]:
        now, infos = self._clock(), matching_streams(list_streams(self._folder), query)
        if not query.of_turns():
            return [StreamMatch(stream=info) for info in infos]
        candidates = self._backend.ask(lambda rows: matching_turns(rows, infos, query, now))
        return matching_text(self._folder, candidates, query.text)

    def _line(self, key: TraceKey) -> bytes:
        return self._backend.ask(lambda rows: entry_line(self._folder, rows, key))
