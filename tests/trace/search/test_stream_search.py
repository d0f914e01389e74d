"""Entries by their keys, and turns by conditions."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.errors import NotFound, RemoraError, StreamDamaged, UsageError
from remora.ids import is_id
from remora.trace.read.reader import list_streams, read_events, read_lines
from remora.trace.search.keys import IndexKey, TraceKey, parse_key
from remora.trace.search.stream_search import StreamSearch
from remora.trace.search.turn_filter import StreamMatch, StreamQuery
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.golden.test_golden import OF_AGENTS, laid_out
from tests.trace.conftest import rechained
from tests.trace.search.conftest import NODE, OTHER, RUN, Agent, World, parsed

NOW = datetime(2026, 1, 2, 3, 10, tzinfo=UTC)
JOB = f"trace:{RUN}:lint:{NODE}"
FIELDS = ["seq", "timestamp", "run_id", "node_id", "turn", "type", "data", "packet_delta"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def told(found: list[StreamMatch]) -> dict[str, list[tuple[int, int]]]:
    return {f.stream.agent_id: [(match.turn, match.call) for match in f.turns] for f in found}


def entry(asked: StreamSearch, key: str) -> dict[str, Any]:
    found = asked.get(key)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def asked(world: World) -> StreamSearch:
    return StreamSearch(world.folder, lambda: NOW)


# keys


def test_every_result_is_had_as_recorded(world: World, asked: StreamSearch) -> None:
    count = 0
    for agent in world.agents:
        calls: dict[int, int] = {}
        for line in world.lines(agent):
            event = parsed(line)
            if event["type"] != "tool_result":
                continue
            call = calls[event["turn"]] = calls.get(event["turn"], 0) + 1
            suffix = f"#{call}" if call > 1 else ""
            key = "trace:{run_id}:{operation}:{node_id}:{turn}".format(**event) + suffix
            assert asked.get(f"{key}@{agent.name}") == event
            assert list(asked.get(f"{key}@{agent.name}")) == list(event)
            count += 1
    assert count == 8


def test_the_plain_key_is_the_newest_agents(world: World, asked: StreamSearch) -> None:
    newest = entry(asked, f"{JOB}:1")
    assert (newest["agent_id"], newest["data"]["raw_output"]) == (world.second.name, "first")
    assert entry(asked, f"{JOB}:1#2")["data"]["raw_output"] == "second"
    # what the newest one has no result of, an older one may have
    assert entry(asked, f"{JOB}:3")["agent_id"] == world.first.name


@pytest.mark.parametrize(
    ("key", "count"),
    [
        (f"index:run:{RUN}", 7),
        ("index:run:run-2", 1),
        ("index:operation:lint", 7),
        ("index:operation:docstring", 1),
        (f"index:node:{NODE}", 6),
        (f"index:node:{OTHER}", 1),
        ("index:node:node:a:3#2@b.py:f", 1),
    ],
)
def test_an_index_key_lists_each_entry_once(key: str, count: int, asked: StreamSearch) -> None:
    keys = asked.get(key)
    assert isinstance(keys, list)
    assert len({msgspec.json.encode(asked.get(each)) for each in keys}) == len(keys) == count


def test_keys_are_in_order_and_as_short_as_can_be(world: World, asked: StreamSearch) -> None:
    assert asked.get(f"index:node:{NODE}") == [
        f"trace:{RUN}:docstring:{NODE}:1",
        f"{JOB}:1",
        f"{JOB}:1@{world.first.name}",
        f"{JOB}:1#2",
        f"{JOB}:2",
        f"{JOB}:3",
    ]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        (f"{JOB}:9", "turns 1 to 3 have results"),
        (f"{JOB}:2@nobody", "its agents are "),
        (f"trace:{RUN}:lint:node:src/a.py:A.g:1", f"nearest:\n{JOB}:TURN"),
        ("trace:zzzzzz:yyyyyyy:wwwwwww:1", "trace list"),
        ("index:run:run-11", f"nearest:\nindex:run:{RUN}"),
        ("index:node:node:src/a.py:A.ff", f"nearest:\nindex:node:{NODE}"),
        ("index:operation:lnt", "nearest:\nindex:operation:lint"),
    ],
)
def test_an_unknown_key_names_the_nearest(key: str, hint: str, asked: StreamSearch) -> None:
    with pytest.raises(NotFound) as error:
        asked.get(key)
    assert key.partition("@")[0] in error.value.message
    assert hint in error.value.hint


@pytest.mark.parametrize(
    "key", ["", "trace", "trace:a:b:c", f"{JOB}:x", f"{JOB}:1#0", "index:tool:x", "index:node"]
)
def test_what_is_not_a_key(key: str, asked: StreamSearch) -> None:
    with pytest.raises(UsageError):
        asked.get(key)


def test_a_folder_without_streams(folder: TraceFolder) -> None:
    asked = StreamSearch(folder)
    assert asked.find(StreamQuery()) == asked.find(StreamQuery(tool="x")) == []
    with pytest.raises(NotFound):
        asked.get(f"{JOB}:1")


# queries


def test_without_a_question_every_stream_is_found(world: World, asked: StreamSearch) -> None:
    assert [found.stream for found in asked.find(StreamQuery())] == list_streams(world.folder)
    assert {found.turns for found in asked.find(StreamQuery())} == {()}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (StreamQuery(run="run-2"), ["open"]),
        (StreamQuery(run="run"), []),
        (StreamQuery(operation="docstring"), ["doc"]),
        (StreamQuery(node="A.f"), ["doc", "first", "second"]),
        (StreamQuery(node="src/b.py:*"), ["open"]),
        (StreamQuery(node="nothing*"), []),
        (StreamQuery(status="verified"), ["doc", "odd", "second"]),
        (StreamQuery(status="interrupted"), ["open"]),
        (StreamQuery(status="failed", node="A.*"), ["first"]),
    ],
)
def test_streams_are_chosen(
    query: StreamQuery, names: list[str], world: World, asked: StreamSearch
) -> None:
    chosen = {getattr(world, name).name for name in names}
    assert {found.stream.agent_id for found in asked.find(query)} == chosen


@pytest.mark.parametrize(
    ("query", "turns"),
    [
        (StreamQuery(outcome="partial"), {"first": [(2, 1)]}),
        (StreamQuery(outcome="error"), {"first": [(3, 1)], "second": [(2, 1)]}),
        (StreamQuery(tool="run_check"), {"first": [(3, 1)]}),
        (StreamQuery(tool="never_done"), {"open": [(2, 1)]}),
        (StreamQuery(decided_by="model"), {"second": [(1, 1), (1, 2)]}),
        (StreamQuery(decided_by="fallback", outcome="success"), {"open": [(1, 1)]}),
        (
            StreamQuery(tool="apply_fix", node="A.f"),
            {"first": [(1, 1)], "second": [(1, 1), (1, 2)]},
        ),
        (StreamQuery(outcome="partial", tool="run_check"), {}),
    ],
)
def test_turns_are_chosen(
    query: StreamQuery,
    turns: dict[str, list[tuple[int, int]]],
    world: World,
    asked: StreamSearch,
) -> None:
    assert told(asked.find(query)) == {getattr(world, n).name: t for n, t in turns.items()}


def test_a_turn_is_reported(world: World, asked: StreamSearch) -> None:
    (found,) = asked.find(StreamQuery(decided_by="model"))
    match = found.turns[0]
    assert (match.tool, match.outcome, match.decided_by) == ("apply_fix", "success", "model")
    assert (match.prompt_tokens, match.ms) == (321, 0)
    assert match.key == f"{JOB}:1@{world.second.name}"
    assert entry(asked, match.key)["data"]["raw_output"] == "first"
    times = [e.timestamp for e in read_events(world.second.path) if e.turn == 1]
    assert (match.began, match.ended) == (times[0], times[-1])


def test_a_turn_without_a_result_has_no_key(asked: StreamSearch) -> None:
    (found,) = asked.find(StreamQuery(tool="never_done"))
    assert [(m.key, m.outcome, m.ms) for m in found.turns] == [(None, "", None)]


def test_times_are_in_utc_and_meet_any_part_of_a_turn(world: World, asked: StreamSearch) -> None:
    # the writer's clock: agent_start at :06, then each event a second later
    def turns(since: str | None, until: str | None = None) -> list[tuple[int, int]]:
        query = StreamQuery(since=since, until=until, status="failed")
        return told(asked.find(query)).get(world.first.name, [])

    assert turns("2026-01-02T03:04:15.1Z") == [(3, 1)]
    assert turns("2026-01-02T04:04:14.5+01:00") == [(3, 1)]
    assert turns(None, "2026-01-02T03:04:07Z") == [(0, 1)]
    assert turns("2026-01-02T03:04:08Z", "2026-01-02T03:04:08.5Z") == [(1, 1)]
    assert turns("2026-01-02") == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert turns("345s") == [(3, 1)]
    assert turns("1m") == turns("2026-01-03") == []


# streams that are not as they should be, and streams that go on


def test_answers_follow_a_stream_that_grows(world: World, asked: StreamSearch) -> None:
    world.open.reopen()
    for turn in range(3, 6):
        before = told(asked.find(StreamQuery(tool="late")))
        world.open.whole_turn("late", output=str(turn))
        after = told(asked.find(StreamQuery(tool="late")))
        assert len(after[world.open.name]) == len(before.get(world.open.name, [])) + 1
        assert entry(asked, f"trace:run-2:lint:{OTHER}:{turn}")["turn"] == turn


def test_a_sealed_stream_is_the_same_stream(world: World, asked: StreamSearch) -> None:
    for query in (
        StreamQuery(outcome="error"),
        StreamQuery(decided_by="model"),
    ):
        before = asked.find(query)
        for agent in world.agents:
            if agent.path.exists():
                compress_stream(agent.path)
        assert told(asked.find(query)) == told(before) != {}
    assert entry(asked, f"{JOB}:1")["agent_id"] == world.second.name


def test_a_missing_stream_is_not_found(world: World, asked: StreamSearch) -> None:
    assert asked.get(f"{JOB}:1")
    world.second.path.unlink()
    assert entry(asked, f"{JOB}:1")["agent_id"] == world.first.name
    assert told(asked.find(StreamQuery(decided_by="model"))) == {}


def test_a_changed_line_is_refused(world: World, asked: StreamSearch) -> None:
    assert asked.get(f"{JOB}:1")
    damaged = world.second.path.read_bytes().replace(b'"first"', b'"forst"')
    world.second.path.write_bytes(damaged)
    with pytest.raises(StreamDamaged):
        asked.get(f"{JOB}:1")


def test_what_is_behind_a_damaged_line_is_not_told(world: World, asked: StreamSearch) -> None:
    lines = world.lines(world.first)
    (place,) = (i for i, line in enumerate(lines) if b'"read_code"' in line and b'"$' in line)
    lines[place] = lines[place].replace(b'"seq"', b'"sek"')
    world.first.path.write_bytes(b"\n".join(lines) + b"\n")
    assert told(asked.find(StreamQuery(outcome="success", status="failed"))) == {
        world.first.name: [(1, 1)]
    }
    with pytest.raises(NotFound):
        asked.get(f"{JOB}:3@{world.first.name}")


@pytest.mark.parametrize("junk", [b"", b"\0" * 99, b"{}\n", b"not json\n" * 9, b"\xff\n"])
def test_files_that_are_no_streams(junk: bytes, world: World, asked: StreamSearch) -> None:
    before = told(asked.find(StreamQuery(tool="apply_fix")))
    world.folder.agent_stream("junk").write_bytes(junk)
    assert told(asked.find(StreamQuery(tool="apply_fix"))) == before
    assert "junk" in told(asked.find(StreamQuery()))
    assert asked.get(f"{JOB}:1")


def test_a_stream_under_another_name_is_nobodys(world: World, asked: StreamSearch) -> None:
    copy = world.folder.agent_stream("copy")
    copy.write_bytes(world.second.path.read_bytes())
    assert "copy" not in told(asked.find(StreamQuery(tool="apply_fix")))
    assert entry(asked, f"{JOB}:1")["agent_id"] == world.second.name


@given(
    st.from_regex(r"[a-z0-9._-]{1,9}", fullmatch=True).filter(is_id),
    st.text(max_size=30),
    st.integers(0, 10**9),
    st.integers(1, 9),
    st.none() | st.just("lint-0123456789ab"),
)
def test_any_node_has_keys(
    name: str, node: str, turn: int, call: int, agent_id: str | None
) -> None:
    key = TraceKey(
        run_id=name, operation=name, node_id=node, turn=turn, call=call, agent_id=agent_id
    )
    assert parse_key(str(key)) == key
    assert parse_key(f"index:node:{node}") == IndexKey(kind="node", value=node)


@OF_AGENTS
def test_golden_streams_are_found(path: Path, tmp_path: Path) -> None:
    asked, count = StreamSearch(laid_out([path], tmp_path)), 0
    (end,) = [line["data"] for line in map(parsed, read_lines(path)) if line["type"] == "agent_end"]
    (stream,) = [found.stream for found in asked.find(StreamQuery())]
    assert stream.status == end["status"].replace("submitted", "verified")
    for line in map(parsed, read_lines(path)):
        if line["type"] == "tool_result":
            key = "trace:{run_id}:{operation}:{node_id}:{turn}@{agent_id}".format(**line)
            assert asked.get(key) == line
            count += 1
    matches = [m for found in asked.find(StreamQuery(since="2020-01-01")) for m in found.turns]
    assert sum(match.key is not None for match in matches) == count


@settings(max_examples=30)
@given(st.integers(0, 12), st.sampled_from(FIELDS), JSON)
def test_no_answer_fails_because_of_what_a_line_holds(
    tmp_path_factory: pytest.TempPathFactory, place: int, field: str, value: Any
) -> None:
    """Valid hashes around an invalid event."""
    folder = TraceFolder(tmp_path_factory.mktemp("folder"))
    folder.create()
    agent = Agent(folder)
    for _ in range(4):
        agent.whole_turn()
    agent.writer.close()
    lines = agent.path.read_bytes().splitlines()
    forged = {**parsed(lines[place]), field: value}
    digest = forged.pop("hash")
    lines[place] = msgspec.json.encode({**forged, "hash": digest})
    agent.path.write_bytes(rechained(lines))
    asked = StreamSearch(folder)
    for query in (StreamQuery(until="0s"), StreamQuery(tool="apply_fix")):
        asked.find(query)
    for key in (f"index:run:{RUN}", f"{JOB}:1", f"{JOB}:4"):
        with suppress(RemoraError):
            asked.get(key)


def test_a_damaged_sealed_stream_is_reported_as_far_as_it_goes(folder: TraceFolder) -> None:
    agent = Agent(folder)
    for turn in range(30):
        agent.whole_turn(output=[f"{turn}" * 900] * 100)
    agent.end()
    asked = StreamSearch(folder)
    whole = told(asked.find(StreamQuery(tool="apply_fix")))[agent.name]
    compress_stream(agent.path)
    sealed = folder.existing_agent(agent.name)
    good = sealed.read_bytes()
    for place in (0, len(good) // 3, len(good) // 2, len(good) - 40, len(good) - 1):
        sealed.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        found = told(asked.find(StreamQuery(tool="apply_fix"))).get(agent.name, [])
        assert found == whole[: len(found)] != whole
    sealed.write_bytes(good)
    assert told(asked.find(StreamQuery(tool="apply_fix")))[agent.name] == whole


@pytest.mark.parametrize("depth", [70, 900, 945, 990, 1_500])
def test_nesting_without_end(depth: int, folder: TraceFolder) -> None:
    """The decoder's depth limit depends on the caller; no depth raises an exception."""
    agent = Agent(folder)
    agent.whole_turn()
    agent.whole_turn()
    agent.writer.close()
    lines = agent.path.read_bytes().splitlines()
    nested = b'{"update_knowledge":{"k":' + b"[" * depth + b"]" * depth + b"}}"
    lines[2] = lines[2].replace(b'"packet_delta":null', b'"packet_delta":' + nested)
    assert nested in lines[2]
    agent.path.write_bytes(rechained(lines))
    StreamSearch(folder).find(StreamQuery(tool="apply_fix"))


@pytest.mark.parametrize("name", [b"\xff\xfe", b"UPPER", b"", b".", b"a\nb"])
def test_a_file_that_no_agent_is_named_by_is_skipped(name: bytes, world: World) -> None:
    asked = StreamSearch(world.folder)
    before = asked.find(StreamQuery(outcome="error")), asked.get("index:operation:lint")
    odd = os.fsencode(world.folder.traces) + b"/" + name + b".jsonl"
    Path(os.fsdecode(odd)).write_bytes(world.second.path.read_bytes())
    assert (asked.find(StreamQuery(outcome="error")), asked.get("index:operation:lint")) == before
