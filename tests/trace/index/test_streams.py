"""Streams of other versions and writers: read as far as possible, without exceptions."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.errors import RemoraError
from remora.memory.packet import packet_json
from remora.trace.index import ingest
from remora.trace.index.packet_reader import PacketReader
from remora.trace.index.queries import trace_queries
from remora.trace.read.reader import read_lines
from remora.trace.read.store_queries import StreamMatch, StreamQuery
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.golden.test_golden import AGENTS, OF_AGENTS, STREAMS, expected, laid_out
from tests.trace.conftest import rechained
from tests.trace.index.conftest import NODE, RUN, Agent

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = ["seq", "timestamp", "run_id", "node_id", "turn", "type", "data", "packet_delta", "hash"]


@OF_AGENTS
def test_old_streams_are_indexed(path: Path, tmp_path: Path) -> None:
    folder = laid_out([path], tmp_path)
    (name,) = (place.stem for place in folder.agent_streams())
    reader = PacketReader(folder)
    for turn, packet in expected(path)["shown"].items():
        assert packet_json(reader.packet_at(name, int(turn))) == packet
    for store in ("kv", "jsonl"):
        asked, count = trace_queries(folder, store), 0
        for line in map(json.loads, read_lines(path)):
            if line["type"] == "tool_result":
                key = "trace:{run_id}:{operation}:{node_id}:{turn}@{agent_id}".format(**line)
                assert asked.get(key) == line
                count += 1
        matches = [m for found in asked.find(StreamQuery(since="2020-01-01")) for m in found.turns]
        assert sum(match.key is not None for match in matches) == count


def test_a_folder_of_old_streams(tmp_path: Path) -> None:
    folder = laid_out([path for path in STREAMS if path.parent == AGENTS[0].parent], tmp_path)
    kv, jsonl = (trace_queries(folder, store) for store in ("kv", "jsonl"))
    for query in (
        StreamQuery(outcome="error"),
        StreamQuery(decided_by="model"),
        StreamQuery(text="unused"),
    ):
        assert kv.find(query) == jsonl.find(query) != []


def changed(lines: list[bytes], place: int, key: str, value: Any) -> list[bytes]:
    event = json.loads(lines[place])
    digest = event.pop("hash")
    event[key] = value
    body = json.dumps({**event, "hash": digest}, separators=(",", ":"))
    return [*lines[:place], body.encode(), *lines[place + 1 :]]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 12), st.sampled_from(KEYS), JSON)
def test_whatever_a_line_holds(
    tmp_path_factory: pytest.TempPathFactory, place: int, key: str, value: Any
) -> None:
    """Valid hashes around an invalid event: both backends give the same answer."""
    folder = TraceFolder(tmp_path_factory.mktemp("folder"))
    folder.create()
    agent = Agent(folder)
    for _ in range(4):
        agent.whole_turn()
    agent.writer.close()
    lines = agent.path.read_bytes().splitlines()
    forged = changed(lines, place, key, value)
    agent.path.write_bytes(rechained(forged) if key != "hash" else b"\n".join([*forged, b""]))
    kv, jsonl = (trace_queries(folder, store) for store in ("kv", "jsonl"))
    for query in (StreamQuery(until="0s"), StreamQuery(tool="apply_fix"), StreamQuery(text="done")):
        assert kv.find(query) == jsonl.find(query)
    job = f"trace:{RUN}:lint:{NODE}"
    for ask in (f"index:run:{RUN}", f"{job}:1", f"{job}:4"):
        assert outcome(kv.get, ask) == outcome(jsonl.get, ask)
    for turn in range(5):
        indexed, plain = PacketReader(folder), PacketReader(folder, indexed=False)
        for way in ("packet_at", "turn_lines"):
            told = [outcome(getattr(r, way), agent.name, turn) for r in (indexed, plain)]
            assert told[0] == told[1]


def outcome(ask: Callable[..., object], *words: object) -> object:
    """Return the answer, or the error."""
    try:
        return ask(*words)
    except RemoraError as error:
        return type(error), error.message


def test_a_damaged_sealed_stream_is_reported_as_far_as_it_goes(folder: TraceFolder) -> None:
    """Indexed rows may be returned; other rows only up to the damage."""
    other = Agent(folder, attempt=2)
    other.whole_turn()
    other.end()
    agent = Agent(folder)
    for turn in range(30):
        agent.whole_turn(output=[f"{turn}" * 900] * 100)
    agent.end()
    kv, jsonl = (trace_queries(folder, store) for store in ("kv", "jsonl"))
    whole = kv.find(StreamQuery(tool="apply_fix"))
    compress_stream(agent.path)
    sealed = folder.existing_agent(agent.name)
    good = sealed.read_bytes()
    lost = 0
    for place in (0, len(good) // 3, len(good) // 2, len(good) - 40, len(good) - 1):
        sealed.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        known = kv.find(StreamQuery(tool="apply_fix"))
        (folder.path / "index.db").unlink()
        found = kv.find(StreamQuery(tool="apply_fix"))
        assert found == jsonl.find(StreamQuery(tool="apply_fix"))
        for few, many in ((found, known), (known, whole)):
            assert turns(few) <= turns(many)
        lost += len(turns(whole) - turns(found))
        key = f"trace:{RUN}:lint:{NODE}:30"
        assert outcome(kv.line, key) == outcome(jsonl.line, key)
    assert lost
    sealed.write_bytes(good)
    assert [f.turns for f in kv.find(StreamQuery(tool="apply_fix"))] == [f.turns for f in whole]


def turns(found: list[StreamMatch]) -> set[tuple[str, int]]:
    return {(f.stream.agent_id, match.turn) for f in found for match in f.turns}


@pytest.mark.parametrize("depth", [70, 300, 700, 1_500])
def test_nesting_without_end(depth: int, folder: TraceFolder) -> None:
    agent = nested_agent(folder, depth)
    kv, jsonl = (trace_queries(folder, store) for store in ("kv", "jsonl"))
    assert kv.find(StreamQuery(tool="apply_fix")) == jsonl.find(StreamQuery(tool="apply_fix"))
    assert PacketReader(folder).packet_at(agent.name, 0).turn == 0


@pytest.mark.parametrize("depth", range(900, 1_000, 9))
def test_nesting_at_the_end_of_the_stack(
    depth: int, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder's depth limit depends on the caller; no depth raises an exception."""
    monkeypatch.setattr(ingest, "SPACING", 1)
    monkeypatch.setattr(ingest, "_SHARE", 0)
    agent = nested_agent(folder, depth)
    for _ in range(2):
        assert trace_queries(folder).find(StreamQuery())
        trace_queries(folder).find(StreamQuery(tool="apply_fix"))
        for turn in range(3):
            outcome(PacketReader(folder).packet_at, agent.name, turn)


def nested_agent(folder: TraceFolder, depth: int) -> Agent:
    agent = Agent(folder)
    agent.whole_turn()
    agent.whole_turn()
    agent.writer.close()
    lines = agent.path.read_bytes().splitlines()
    nested = b'{"update_knowledge":{"k":' + b"[" * depth + b"]" * depth + b"}}"
    lines[2] = lines[2].replace(b'"packet_delta":null', b'"packet_delta":' + nested)
    assert nested in lines[2]
    agent.path.write_bytes(rechained(lines))
    return agent


@pytest.mark.parametrize("name", [b"\xff\xfe", b"UPPER", b"", b".", b"a\nb"])
def test_a_file_that_no_agent_is_named_by_is_skipped(name: bytes, tmp_path: Path) -> None:
    folder = laid_out([path for path in STREAMS if path.parent == AGENTS[0].parent], tmp_path)
    before = [
        trace_queries(folder, store).find(StreamQuery(outcome="error")) for store in ("kv", "jsonl")
    ]
    odd = Path(os.fsdecode(os.fsencode(folder.traces) + b"/" + name + b".jsonl"))
    odd.write_bytes(AGENTS[0].read_bytes())
    for queries in (trace_queries(folder, "kv"), trace_queries(folder, "jsonl")):
        assert queries.find(StreamQuery(outcome="error")) in before
        assert queries.get("index:operation:lint")
