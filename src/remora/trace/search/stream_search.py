"""Queries over all streams in a folder. Nothing is stored: each query reads the streams."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from remora.code.syntax.node_patterns import match_nodes, nearest
from remora.errors import NotFound, RemoraError, StreamDamaged
from remora.ids import NodeKey, is_id
from remora.memory.events import Event
from remora.trace.content.line_format import hashed_lines
from remora.trace.read.reader import StreamInfo, list_streams, open_stream, read_events
from remora.trace.read.verified_reader import hash_mismatch
from remora.trace.search.keys import IndexKey, TraceKey, job_key, parse_key
from remora.trace.search.turn_filter import StreamMatch, StreamQuery, TurnFilter
from remora.trace.search.turn_rows import AgentTurns, job_of, read_turns
from remora.trace.stream.line_builder import Clock, utc_now
from remora.trace.trace_folder import TraceFolder, stream_id


class StreamSearch:
    """Finds entries by their keys, and turns by conditions."""

    def __init__(self, folder: TraceFolder, clock: Clock = utc_now) -> None:
        self._folder = folder
        self._clock = clock

    def get(self, key: str) -> dict[str, Any] | list[str]:
        """Return the trace entry for a `trace:` key, or the list of `trace:` keys for an `index:`
        key.

        Raises UsageError if the key is invalid, NotFound (with the nearest keys) if there is no
        such entry, StreamDamaged if a line does not match its hash, and DiskError if the stream
        cannot be read.
        """
        if isinstance(parsed := parse_key(key), IndexKey):
            return self._keys(parsed)
        entry: dict[str, Any] = msgspec.json.decode(self._line(parsed))
        return entry

    def find(self, query: StreamQuery) -> list[StreamMatch]:
        """Return the matching streams, sorted by agent ID.

        Raises UsageError if a time is invalid.
        """
        infos = _matching_streams(list_streams(self._folder), query)
        if not query.of_turns():
            return [StreamMatch(stream=info) for info in infos]
        condition = TurnFilter.at(query, self._clock())
        found = []
        for info in infos:
            path = self._folder.agent_stream(info.agent_id) if is_id(info.agent_id) else None
            agent = read_turns(path) if path else None
            rows = [row for row in agent.rows if condition.matches(row.match)] if agent else []
            if rows:
                found.append(StreamMatch(stream=info, turns=tuple(row.match for row in rows)))
        return found

    def _line(self, key: TraceKey) -> bytes:
        job = (key.run_id, key.operation, key.node_id)
        firsts = [*self._first_events()]
        ours = [one for one in firsts if job_of(one) == job]
        agents = self._newest_first(one for one in ours if key.agent_id in (None, one.agent_id))
        for agent in agents:
            for row in agent.rows:
                if (row.match.turn, row.match.call) == (key.turn, key.call) and row.seq is not None:
                    return _recorded_line(agent, row.seq)
        raise NotFound(f"nothing is recorded under {key}", hint=_similar_keys(key, agents, firsts))

    def _keys(self, key: IndexKey) -> list[str]:
        """Return the keys of all entries of a node, run or operation.

        If a newer agent has an entry with the same key, the older agent's key includes its agent
        ID.
        """
        firsts = [*self._first_events()]
        ours = [one for one in firsts if _value(one, key.kind) == key.value]
        if not ours:
            known = {_value(one, key.kind) for one in firsts}
            raise NotFound(
                f"nothing is recorded under {key}",
                hint=_hint(key.value, known, "index:" + key.kind + ":{}"),
            )
        keys: dict[str, tuple[str, str, int, int]] = {}
        for agent in self._newest_first(ours):
            for match in (row.match for row in agent.rows if row.seq is not None):
                named = agent.key(match)
                text = str(msgspec.structs.replace(named, agent_id=None))
                place = (agent.job[0], job_key(*agent.job), match.turn, match.call)
                keys[str(named) if text in keys else text] = place
        return [text for text, _ in sorted(keys.items(), key=lambda one: (one[1], one[0]))]

    def _first_events(self) -> Iterator[Event]:
        """Yield the first event of each agent's stream that begins with one."""
        for path in self._folder.agent_streams():
            with suppress(RemoraError):
                first = next(read_events(path), None)
                if first is not None and first.agent_id == stream_id(path):
                    yield first

    def _newest_first(self, firsts: Iterable[Event]) -> list[AgentTurns]:
        found = (read_turns(self._folder.agent_stream(one.agent_id)) for one in firsts)
        return sorted(filter(None, found), key=lambda agent: agent.age, reverse=True)


def _recorded_line(agent: AgentTurns, seq: int) -> bytes:
    """Return a line after checking the hashes up to it."""
    with open_stream(agent.path) as source:
        for line, digest in hashed_lines(source):
            if line.number == seq + 1:
                if digest is None:
                    raise hash_mismatch(agent.path, line)
                return line.raw
    raise StreamDamaged(
        f"{agent.path.name} was rewritten while it was being read",
        hint="run `remora trace verify`",
    )


def _matching_streams(infos: list[StreamInfo], query: StreamQuery) -> list[StreamInfo]:
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


def _value(event: Event, kind: str) -> str:
    return {"node": event.node_id, "run": event.run_id, "operation": event.operation}[kind]


def _similar_keys(key: TraceKey, agents: list[AgentTurns], firsts: list[Event]) -> str:
    """Return a hint with the turns or agents of the same job, or with the keys of similar jobs."""
    turns = [row.match.turn for agent in agents for row in agent.rows if row.seq is not None]
    if turns:
        return f"turns {min(turns)} to {max(turns)} have results"
    prefix = job_key(key.run_id, key.operation, key.node_id)
    named = [one.agent_id for one in firsts if job_key(*job_of(one)) == prefix]
    if named and not agents:
        return f"its agents are {', '.join(sorted(named))}"
    return _hint(prefix, {job_key(*job_of(one)) for one in firsts}, "{}:TURN")


def _hint(name: str, known: Iterable[str], spelt: str) -> str:
    """Return a hint with the nearest keys, one per line.

    `spelt` is a key template in which `{}` is replaced with each similar name.
    """
    keys = [spelt.replace("{}", near) for near in nearest(name, known)]
    return "\n".join(["nearest:", *keys]) if keys else "list the streams with `remora trace list`"
