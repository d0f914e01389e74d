"""Packet and files of every turn, restored from the streams and `objects/`."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import AgentStart, Change, ToolResulted, TurnStart
from remora.memory.packet import DecisionPacket
from remora.trace.read.agent_turns import each_decision, packet_at
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.stream_writer import open_emitter
from tests.trace.conftest import AGENT, BASE, RUN, Recorder, RunRecorder, agent_identity, play_run
from tests.trace.past_files import PastFile, files_at

PATHS = st.sampled_from(["src/a.py", "src/gone.py", "src/new.py", "ä/b.py"])
CHANGES = st.dictionaries(PATHS, st.none() | st.binary(max_size=8), max_size=3)
ARGS = st.dictionaries(st.sampled_from(["line", "text"]), st.integers(0, 9) | st.text(max_size=4))
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "update_knowledge": st.dictionaries(st.text(max_size=3), st.integers() | st.text()),
        "forget_knowledge": st.lists(st.text(max_size=3), max_size=3).map(tuple),
        "set_error": st.none() | st.text(max_size=9),
        "state_summary": st.text(max_size=9),
        "hub_context": st.dictionaries(st.text(max_size=2), st.none() | st.just({"f": 1})),
        "diagnostics": st.lists(st.text(max_size=4), max_size=4).map(tuple),
    },
)
TURNS = st.lists(
    st.tuples(st.lists(ARGS, max_size=5), CHANGES | st.none(), st.integers(0, 8), DELTAS),
    min_size=1,
    max_size=5,
)


def bytes_of(folder: TraceFolder, files: dict[str, PastFile]) -> dict[str, bytes | None]:
    return {
        path: None if file.sha256 is None else folder.objects.get(file.sha256)
        for path, file in files.items()
    }


def clean(value: Any) -> Any:
    """Return plain values without lone surrogates, which JSON cannot represent."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return tuple(map(clean, value)) if isinstance(value, tuple) else value


@given(turns=TURNS)
def test_every_turn_is_restored(turns: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        run = RunRecorder(folder)
        run.job_start()
        agent = Recorder(folder)
        for candidates, changes, steps, delta in turns:
            agent.start_turn(*clean(candidates))
            if changes is None:
                agent.misunderstand(steps)
            else:
                agent.decide({}, steps)
                agent.result(changes, **clean(delta))
        run.job_end(agent.end())
        run.end()

        run_events = list(read_events(folder.run_stream(RUN)))
        events = list(read_events(folder.agent_stream(AGENT)))
        shown = {turn: state.shown() for turn, state in each_decision(events)}
        assert shown[0] == packet_at(events, 0)
        for turn in range(1, len(turns) + 1):
            assert packet_at(events, turn) == shown[turn] == agent.shown[turn]
            assert packet_at(events, turn, shown=False) == agent.full[turn]
        for turn in range(len(turns) + 1):
            assert bytes_of(folder, files_at(run_events, events, turn)) == agent.left[turn]
        assert verify_all(folder).ok


def test_the_base_is_turn_zero(folder: TraceFolder) -> None:
    play_run(folder)
    run_events = list(read_events(folder.run_stream(RUN)))
    files = files_at(run_events, read_events(folder.agent_stream(AGENT)), 0)
    assert bytes_of(folder, files) == BASE
    assert files["src/a.py"].mode == 0o644


def test_turn_zero_is_what_the_first_turn_starts_from(folder: TraceFolder) -> None:
    agent = play_run(folder)[1]
    packet = packet_at(read_events(agent.writer.path), 0)
    assert (packet.turn, packet.goal) == (0, "no findings")


def test_an_undecided_turn_is_what_it_came_to(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.start_turn({"line": 1})
    agent.writer.close()
    assert packet_at(read_events(agent.writer.path), 1) == agent.packet


def test_of_a_turn_that_was_decided_again_the_later_decision_counts(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.start_turn({"line": 1})
    agent.decide({"line": 1})
    agent.turn = 0
    agent.start_turn({"line": 2})
    agent.decide({"line": 2})
    agent.writer.close()
    assert packet_at(read_events(agent.writer.path), 1).candidate_actions[0].args == {"line": 2}


@pytest.mark.parametrize("turn", [-1, 5, 99])
def test_a_missing_turn(turn: int, folder: TraceFolder) -> None:
    agent = play_run(folder)[1]
    with pytest.raises(NotFound) as error:
        packet_at(read_events(agent.writer.path), turn)
    assert error.value.hint == "the stream has turns 1 to 4"


@pytest.mark.parametrize(
    ("turn", "hint"), [(2, "the stream has turns 3 to 4"), (9, "the stream has turns 3 to 4")]
)
def test_a_fork_does_not_begin_with_turn_one(turn: int, hint: str, folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.turn = 2
    for _ in range(2):
        agent.start_turn()
    agent.writer.close()
    events = list(read_events(agent.writer.path))
    assert packet_at(events, 3).turn == 3
    with pytest.raises(NotFound) as error:
        packet_at(events, turn)
    assert error.value.hint == hint


def test_a_stream_without_turns_says_so(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.writer.close()
    assert packet_at(read_events(agent.writer.path), 0) == agent.packet
    with pytest.raises(NotFound) as error:
        packet_at(read_events(agent.writer.path), 1)
    assert error.value.hint == "it has no turns yet"


def test_files_that_moved_on_and_those_of_a_parent_lie_on_the_base(folder: TraceFolder) -> None:
    """From below to the top: the run's base, what moved on since, what a parent had changed, what
    the agent did itself."""
    run = RunRecorder(folder)
    put = folder.objects.put
    rebased = {
        "src/a.py": {"sha256": put(b"moved on"), "mode": 0o600},
        "src/b.py": {"sha256": put(b"moved on too"), "mode": 0o644},
        "src/c.py": None,
    }
    before = Change(path="src/b.py", before=None, after=put(b"the parent's"), mode=0o755)
    gone = Change(path="src/d.py", before=put(b"d"), after=None, mode=0o644)
    mine = Change(path="src/b.py", before=before.after, after=put(b"mine"), mode=0o755)
    path = folder.agent_stream(AGENT)
    with open_emitter(path, agent_identity(), blobs=folder.blobs) as writer:
        start = AgentStart(packet=DecisionPacket(), rebased=rebased, changes=(before, gone))
        writer.emit(start, turn=0)
        writer.emit(ToolResulted(tool="x", changes=(mine,)), turn=1)
    run.end()
    run_events, events = list(read_events(run.writer.path)), list(read_events(path))
    begun = {
        "src/a.py": b"moved on",
        "src/b.py": b"the parent's",
        "src/c.py": None,
        "src/d.py": None,
        "src/gone.py": None,
    }
    found = files_at(run_events, events, 0)
    assert bytes_of(folder, found) == begun
    assert (found["src/a.py"].mode, found["src/b.py"].mode) == (0o600, 0o755)
    assert bytes_of(folder, files_at(run_events, events, 1)) == {**begun, "src/b.py": b"mine"}


def test_streams_that_cannot_be_restored_from(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.writer.close()
    run = RunRecorder(folder)
    with pytest.raises(StreamDamaged):
        packet_at(read_events(run.writer.path), 1)
    with pytest.raises(StreamDamaged):
        packet_at([], 0)


def test_turns_are_found_in_a_stream_that_begins_with_a_recovery(folder: TraceFolder) -> None:
    path = folder.agent_stream(AGENT)
    path.write_bytes(b'{"v":1')
    agent = Recorder(folder)
    agent.start_turn()
    agent.emit(TurnStart())
    agent.writer.close()
    assert packet_at(read_events(path), 1) == agent.packet
