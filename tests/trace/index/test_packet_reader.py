"""Packets and lines of any turn are the same with and without the index."""

import contextlib
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remora.errors import NotFound, StreamDamaged, StreamError
from remora.memory.delta import PacketDelta
from remora.memory.events import Event, TurnStart
from remora.memory.packet import packet_json
from remora.trace.index import ingest
from remora.trace.index.packet_reader import PacketReader
from remora.trace.index.rows import pack_packet, unpack_packet
from remora.trace.read.reader import read_events, read_lines
from remora.trace.read.state_at import packet_at
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, Recorder, play_run
from tests.trace.index.conftest import Agent
from tests.trace.index.test_index import index_of, read_by
from tests.trace.read.test_state_at import DELTAS, clean

SMALL = 600
"""Bytes between two snapshots, so that short streams have many."""
TURNS = st.lists(st.tuples(st.booleans(), st.integers(0, 4), DELTAS), max_size=12)


@pytest.fixture(autouse=True)
def many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "SPACING", SMALL)
    monkeypatch.setattr(ingest, "_SHARE", 1)


@contextlib.contextmanager
def edited(folder: TraceFolder) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(index_of(folder))) as connection, connection:
        yield connection


def snapshots(folder: TraceFolder) -> list[Any]:
    with edited(folder) as connection:
        return connection.execute("SELECT * FROM packets ORDER BY turn").fetchall()


def long_stream(folder: TraceFolder, turns: int = 60) -> Agent:
    agent = Agent(folder)
    for _ in range(turns):
        agent.whole_turn()
    agent.end()
    return agent


def up_to(turn: int, lines: list[bytes], events: list[Event]) -> list[tuple[bytes, Event]]:
    both = takewhile(lambda pair: pair[1].turn <= turn, zip(lines, events, strict=True))
    return [pair for pair in both if pair[1].turn == turn]


def check(folder: TraceFolder, name: str, turns: int) -> None:
    """Compare every turn in any order: the packet with its key order, and the lines."""
    path = folder.existing_agent(name)
    events, lines = list(read_events(path)), list(read_lines(path))
    reader = PacketReader(folder)
    for turn in random.Random(turns).sample(range(turns + 1), turns + 1):
        for shown in (True, False):
            found = packet_json(reader.packet_at(name, turn, shown=shown))
            right = packet_json(packet_at(events, turn, shown=shown))
            assert str(found) == str(right)
        ours = up_to(turn, lines, events)
        assert reader.turn_events(name, turn) == [event for _, event in ours]
        assert reader.turn_lines(name, turn) == [line for line, _ in ours]
    assert reader.last_turn(name) == events[-1].turn


@pytest.mark.slow
@given(TURNS)
def test_every_turn_of_any_stream(turns: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        agent = Recorder(folder)
        for number, (decided, steps, delta) in enumerate(turns, 1):
            agent.start_turn({"line": number}, {"line": 2}, {"line": 3})
            if decided:
                agent.decide({}, steps)
                agent.result({}, **clean(delta))
            else:
                agent.misunderstand(steps)
            if number % 3 == 0:
                PacketReader(folder).packet_at(agent.name, number // 2)  # indexes a part
        agent.end()
        check(folder, agent.name, len(turns))


def test_snapshots_are_kept_and_used(folder: TraceFolder) -> None:
    agent = long_stream(folder)
    check(folder, agent.name, 60)
    assert len(snapshots(folder)) > 10
    size = agent.path.stat().st_size
    folding = read_by(lambda: PacketReader(folder, indexed=False).packet_at(agent.name, 60))
    assert folding > size
    # read from a snapshot, in one piece of 64 KB; then the hash before it
    os.truncate(agent.path, size)
    assert PacketReader(folder).packet_at(agent.name, 59).turn == 59


def test_only_a_part_of_a_long_stream_is_read(folder: TraceFolder) -> None:
    agent = Agent(folder)
    for _ in range(40):
        agent.whole_turn(output="x" * 50_000)
    agent.end()
    reader = PacketReader(folder)
    right = packet_at(read_events(agent.path), 37)
    assert reader.packet_at(agent.name, 37) == right
    assert read_by(lambda: reader.packet_at(agent.name, 37)) < 500_000
    assert read_by(lambda: reader.turn_events(agent.name, 11)) < 500_000
    compress_stream(agent.path)
    assert reader.packet_at(agent.name, 37) == right
    assert len(reader.turn_events(agent.name, 11)) == 3


def test_a_sealed_stream_gives_the_same(folder: TraceFolder) -> None:
    agent = long_stream(folder, 20)
    check(folder, agent.name, 20)
    compress_stream(agent.path)
    check(folder, agent.name, 20)
    index_of(folder).unlink()
    check(folder, agent.name, 20)


def test_a_stream_that_continues(folder: TraceFolder) -> None:
    agent = Agent(folder)
    for turn in range(1, 13):
        agent.whole_turn()
        check(folder, agent.name, turn)
    agent.start_turn()
    check(folder, agent.name, 13)  # the last turn has no decision yet


def test_without_an_index_nothing_is_written(folder: TraceFolder) -> None:
    agent = long_stream(folder, 4)
    reader = PacketReader(folder, indexed=False)
    assert reader.packet_at(agent.name, 3).turn == 3
    assert len(reader.turn_events(agent.name, 3)) == 3
    assert not index_of(folder).exists()


def forge(folder: TraceFolder, column: int, values: list[Any]) -> None:
    """Change values in all snapshots."""
    rows = snapshots(folder)
    with edited(folder) as connection:
        connection.execute("DELETE FROM packets")
        for row, value in zip(rows, values, strict=True):
            forged = (*row[:column], value, *row[column + 1 :])
            connection.execute("INSERT OR REPLACE INTO packets VALUES (?,?,?,?,?)", forged)


@pytest.mark.parametrize("column", range(1, 5))
def test_a_snapshot_that_lies_is_noticed_and_rebuilt(folder: TraceFolder, column: int) -> None:
    """Its packet, turn or place is wrong: the decision names the hash of the shown packet."""
    agent = long_stream(folder, 30)
    check(folder, agent.name, 30)
    honest = snapshots(folder)
    values = [row[column] for row in honest]
    forge(folder, column, [*values[1:], values[0]])
    check(folder, agent.name, 30)
    assert snapshots(folder) == honest


def test_a_wrong_beginning_of_a_turn_is_noticed(folder: TraceFolder) -> None:
    agent = long_stream(folder, 20)
    check(folder, agent.name, 20)
    with edited(folder) as connection:
        connection.execute('UPDATE turns SET "begin" = "begin" + 5')
    check(folder, agent.name, 20)


def test_a_trimmed_snapshot_is_not_used(folder: TraceFolder) -> None:
    """The recorded hash covers the shown packet; `shown=False` needs more."""
    agent = Recorder(folder)
    for number in range(12):
        agent.start_turn({"line": 1}, {"line": 2}, {"line": 3})
        agent.decide({}, steps=1)
        agent.result({}, update_knowledge={f"k{number}": "v" * 200})
    agent.end()
    check(folder, AGENT, 12)
    packets = [unpack_packet(row[4]) for row in snapshots(folder)]
    assert packets[-1].candidate_actions
    lying = [
        pack_packet(replace(p, candidate_actions=p.candidate_actions[:2] * 2)) for p in packets
    ]
    forge(folder, 4, lying)
    check(folder, AGENT, 12)


@pytest.mark.parametrize("turn", [-1, 5, 99])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_missing_turn(turn: int, indexed: bool, folder: TraceFolder) -> None:
    play_run(folder)
    reader = PacketReader(folder, indexed=indexed)
    for ask in (reader.packet_at, reader.turn_events, reader.turn_lines):
        for _ in range(2):
            with pytest.raises(NotFound) as error:
                ask(AGENT, turn)
            assert error.value.hint == "the stream has turns 1 to 4"


def test_a_missing_agent(folder: TraceFolder) -> None:
    reader = PacketReader(folder)
    for ask in (reader.packet_at, reader.turn_events):
        with pytest.raises(NotFound):
            ask("nobody", 1)
    with pytest.raises(NotFound):
        reader.last_turn("nobody")


@pytest.mark.parametrize("indexed", [False, True])
def test_a_damaged_stream_is_reported_where_it_matters(indexed: bool, folder: TraceFolder) -> None:
    agent = long_stream(folder, 20)
    lines = agent.path.read_bytes().splitlines(keepends=True)
    lines[31] = b"{" + lines[31]  # the first line of turn 11
    agent.path.write_bytes(b"".join(lines))
    reader = PacketReader(folder, indexed=indexed)
    for turn in (1, 5, 9):
        assert reader.packet_at(agent.name, turn).turn == turn
    for ask in (reader.packet_at, reader.turn_events):
        with pytest.raises(StreamDamaged):
            ask(agent.name, 11)


@pytest.mark.parametrize("rule", ["fold", "trim"])
def test_rules_that_are_not_known_are_refused(rule: str, folder: TraceFolder) -> None:
    agent = long_stream(folder, 4)
    whole = agent.path.read_bytes()
    agent.path.write_bytes(whole.replace(f'"{rule}/1"'.encode(), f'"{rule}/7"'.encode()))
    for reader in (PacketReader(folder), PacketReader(folder, indexed=False)):
        with pytest.raises(StreamError) as error:
            reader.packet_at(agent.name, 2)
        assert f"'{rule}/7'" in error.value.message


def test_a_turn_that_was_begun_again_lower_is_found(folder: TraceFolder) -> None:
    """No writer goes back in turns. In a stream that does, a turn ends when a later one begins, for
    its lines as for its packet."""
    agent = Agent(folder)
    for turn in (1, 2, 1, 3):
        agent.turn = turn
        agent.emit(TurnStart(), PacketDelta(turn=turn))
    agent.writer.close()
    check(folder, agent.name, 3)
    assert [event.seq for event in PacketReader(folder).turn_events(agent.name, 1)] == [1]


@given(st.binary(max_size=60))
def test_what_is_not_a_packet(junk: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack_packet(junk)
