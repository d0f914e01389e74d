"""The benchmark of the PostgreSQL store: what its streams are made of, and what its arms write."""

from pathlib import Path

import postgres_appends
import psycopg
import pytest
from postgres_appends import measure_appends
from recorded_events import built_lines, turns_of_size, turns_of_stream

from remora.memory.events import GENESIS, AgentEnd, decode_event, payload
from remora.trace.content.line_format import valid_hash

RECORDED = Path(__file__).parents[1] / "golden" / "v1" / "lint-0.jsonl"


def test_streams_are_built_from_all_recorded_events_but_the_end() -> None:
    recorded = [decode_event(line) for line in RECORDED.read_bytes().splitlines()]
    built = built_lines("lint-1", turns_of_stream(RECORDED), count=100)
    lines = [line for turn in built for line in turn][: len(recorded) - 1]
    events = [decode_event(line) for line in lines]
    assert recorded[-1].type == AgentEnd.type
    assert list(map(payload, events)) == list(map(payload, recorded[:-1]))
    assert {each.agent_id for each in events} == {"lint-1"}


def test_built_lines_are_chained_over_repeated_turns() -> None:
    turns = turns_of_stream(RECORDED)
    head = GENESIS
    for turn in built_lines("lint-1", turns, count=3 * len(turns)):
        for line in turn:
            found = valid_hash(line[:-1], head)
            assert found is not None
            head = found


def test_turns_of_a_size_have_lines_of_that_size() -> None:
    recorded = turns_of_stream(RECORDED)
    turns = turns_of_size(recorded, 300, 1000, count=2)
    assert len(turns) > 1
    assert {len(turn) for turn in turns} == {2}
    assert {each.size for turn in turns for each in turn} <= set(range(300, 1001))


def test_all_arms_append_the_same_turns(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"WRITERS": 2, "TURNS": 3, "ROUNDS": 1}.items():
        monkeypatch.setattr(postgres_appends, name, value)
    results = measure_appends(dsn, tmp_path, turns_of_stream(RECORDED))
    assert len(results) == 5
    assert all(each.rate > 0 and each.p50_ms > 0 for found in results.values() for each in found)
    files = [path.read_bytes() for path in (tmp_path / "traces").iterdir()]
    count = sum(file.count(b"\n") for file in files)
    with psycopg.connect(dsn) as connection:
        ours = connection.execute("SELECT sum(next_seq) FROM remora.streams").fetchone()
        peers = connection.execute("SELECT sum(next_seq) FROM peer.streams").fetchone()
    assert len(files) == 2
    assert ours == (count * 3 // 2,)  # two writers, and one
    assert peers == (count * 2,)
