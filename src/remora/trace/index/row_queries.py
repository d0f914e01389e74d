"""Key lookups and queries on index rows."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Protocol

import msgspec

from remora.code.syntax.node_patterns import match_nodes, nearest
from remora.errors import NotFound, RemoraError
from remora.ids import NodeKey
from remora.memory.events import ToolResulted, decode_event
from remora.trace.index.index_database import IndexCorrupted
from remora.trace.index.keys import IndexKey, TraceKey, job_key
from remora.trace.index.row_check import line_at
from remora.trace.index.rows import StreamRow, TurnRow
from remora.trace.index.turn_filter import TextSearch, TurnFilter
from remora.trace.read.reader import StreamInfo, open_stream
from remora.trace.read.store_queries import StreamMatch, StreamQuery
from remora.trace.trace_folder import TraceFolder


class RowSource(Protocol):
    """Rows of all streams, read from the index or by scanning."""

    def streams(self) -> list[StreamRow]:
        """Return all streams that contain at least one event."""

    def turns(self, agent_id: str) -> list[TurnRow]:
        """Return all rows of a stream in order. The list is empty if the stream is missing."""

    def turn(self, agent_id: str, turn: int) -> list[TurnRow]:
        """Return the rows of one turn."""


def entry_line(folder: TraceFolder, rows: RowSource, key: TraceKey) -> bytes:
    """Return the recorded line for a key.

    Raises NotFound if there is no entry for the key, IndexCorrupted if the rows do not match the
    stream, and StreamDamaged or DiskError if the stream cannot be read.
    """
    for stream in _newest_first(rows.streams(), key):
        for row in rows.turn(stream.agent_id, key.turn):
            if row.call == key.call and row.place is not None:
                with open_stream(folder.existing_agent(stream.agent_id)) as source:
                    raw = line_at(source, row.place)
                if raw is None or not _is_entry(raw, stream, key):
                    raise IndexCorrupted("the entry's position contains a different line")
                return raw
    raise NotFound(f"nothing is recorded under {key}", hint=_similar_keys(rows, key))


def entry_keys(rows: RowSource, key: IndexKey) -> list[str]:
    """Return the keys of all entries of a node, run or operation.

    If a newer agent has an entry with the same key, the older agent's key includes its agent ID.
    Raises NotFound if there are no entries.
    """
    found = [stream for stream in rows.streams() if _value(stream, key.kind) == key.value]
    keys, used = list[tuple[str, str, int, int, str]](), set[str]()
    for stream in sorted(found, key=_age, reverse=True):
        job = job_key(stream.run_id, stream.operation, stream.node_id)
        for row in rows.turns(stream.agent_id):
            if row.place is None:
                continue
            named = _key(stream, row)
            if (text := str(named)) in used:
                text = str(msgspec.structs.replace(named, agent_id=stream.agent_id))
            used.add(text)
            keys.append((stream.run_id, job, row.turn, row.call, text))
    if not found:
        known = {_value(stream, key.kind) for stream in rows.streams()}
        raise NotFound(
            f"nothing is recorded under {key}",
            hint=_hint(key.value, known, "index:" + key.kind + ":{}"),
        )
    return [text for *_, text in sorted(keys)]


def matching_turns(
    rows: RowSource, infos: list[StreamInfo], query: StreamQuery, now: datetime
) -> list[tuple[StreamInfo, list[TurnRow]]]:
    """Return the turns that match all conditions except the text search, grouped by stream.

    Raises UsageError if a time in the query is invalid.
    """
    condition = TurnFilter.at(query, now)
    turns = ((info, [*filter(condition.matches, rows.turns(info.agent_id))]) for info in infos)
    return [(info, found) for info, found in turns if found]


def matching_text(
    folder: TraceFolder, candidates: list[tuple[StreamInfo, list[TurnRow]]], text: str | None
) -> list[StreamMatch]:
    """Return the candidates that contain `text`. If `text` is None, return all candidates."""
    search = None if text is None else TextSearch(text, folder.blobs)
    found = []
    for info, rows in candidates:
        having = rows if search is None else _search_turns(search, folder, info, rows)
        if search is None or having:
            turns = tuple(row.match(_key(info, row, info.agent_id)) for row in having)
            found.append(StreamMatch(stream=info, turns=turns))
    return found


def _search_turns(
    search: TextSearch, folder: TraceFolder, info: StreamInfo, rows: list[TurnRow]
) -> list[TurnRow]:
    having: list[TurnRow] = []
    with suppress(RemoraError), open_stream(folder.existing_agent(info.agent_id)) as source:
        having.extend(
            search.within(source, rows)
        )  # in a damaged stream, only the readable part is searched
    return having


def matching_streams(infos: list[StreamInfo], query: StreamQuery) -> list[StreamInfo]:
    """Return the streams that match the query's conditions on streams. No rows are read."""
    nodes = {NodeKey(info.node_id) for info in infos}
    meant = nodes if query.node is None else set(match_nodes(nodes, query.node))
    return [
        info
        for info in infos
        if info.node_id in meant
        and query.run in (None, info.run_id)
        and query.operation in (None, info.operation)
        and query.status in (None, info.status)
    ]


def _newest_first(streams: Iterable[StreamRow], key: TraceKey) -> list[StreamRow]:
    """Return the streams that a key may refer to, newest first."""
    job = (key.run_id, key.operation, key.node_id)
    found = [s for s in streams if (s.run_id, s.operation, s.node_id) == job]
    ours = [s for s in found if key.agent_id in (None, s.agent_id)]
    return sorted(ours, key=_age, reverse=True)


def _age(stream: StreamRow) -> tuple[int, str, str]:
    return stream.attempt, stream.started, stream.agent_id


def _is_entry(raw: bytes, stream: StreamRow, key: TraceKey) -> bool:
    try:
        event = decode_event(raw)
    except (ValueError, RecursionError):
        return False
    return (
        event.type,
        event.agent_id,
        event.turn,
        event.run_id,
        event.operation,
        event.node_id,
    ) == (ToolResulted.type, stream.agent_id, key.turn, key.run_id, key.operation, key.node_id)


def _key(stream: StreamRow | StreamInfo, row: TurnRow, agent_id: str | None = None) -> TraceKey:
    return TraceKey(
        run_id=stream.run_id,
        operation=stream.operation,
        node_id=stream.node_id,
        turn=row.turn,
        call=row.call,
        agent_id=agent_id,
    )


def _value(stream: StreamRow, kind: str) -> str:
    return {"node": stream.node_id, "run": stream.run_id, "operation": stream.operation}[kind]


def _similar_keys(rows: RowSource, key: TraceKey) -> str:
    """Return a hint with the turns or agents of the same job, or with the keys of similar jobs."""
    streams = rows.streams()
    agents = _newest_first(streams, key)
    turns = [row.turn for s in agents for row in rows.turns(s.agent_id) if row.place is not None]
    if turns:
        return f"turns {min(turns)} to {max(turns)} have results"
    jobs = {job_key(s.run_id, s.operation, s.node_id): s for s in streams}
    prefix = job_key(key.run_id, key.operation, key.node_id)
    if prefix in jobs and not agents:
        named = [s.agent_id for s in streams if job_key(s.run_id, s.operation, s.node_id) == prefix]
        return f"its agents are {', '.join(sorted(named))}"
    return _hint(prefix, jobs, "{}:TURN")


def _hint(name: str, known: Iterable[str], spelt: str) -> str:
    """Return a hint with the nearest keys, one per line.

    `spelt` is a key template in which `{}` is replaced with each similar name.
    """
    keys = [spelt.replace("{}", near) for near in nearest(name, known)]
    return "\n".join(["nearest:", *keys]) if keys else "list the streams with `remora trace list`"
