"""The independent check agrees with sound streams, and disagrees where the product does."""

import ast
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.ids import agent_id
from remora.memory.budget import trim
from remora.memory.delta import PacketDelta, candidate, knowledge, new_action
from remora.memory.events import AgentStart, Change, TurnStart
from remora.memory.packet import Excerpt
from remora.trace.read.reader import read_lines
from remora.trace.removal import ExpiredStream, log_expired
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import (
    AGENT,
    NODE,
    RUN,
    Recorder,
    RunRecorder,
    agent_identity,
    play_agent,
    play_run,
    rechained,
)

SCRIPT = Path(__file__).parent / "check_streams.py"


def check(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-I", SCRIPT, root], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    made = TraceFolder(tmp_path)
    made.create()
    return made


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse(SCRIPT.read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    # the package only unpacks, and only where there is no program that does
    assert imported - sys.stdlib_module_names <= {"zstandard"}


def test_a_sound_run_has_no_difference(folder: TraceFolder) -> None:
    play_run(folder)
    status, said = check(folder.root)
    assert (status, said) == (0, ["2 streams, 29 events, 8 packets compared, 0 differences"])
    assert check(folder.path)[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b'"F401":"line=1"', b'"F401":"line=9"', "the packet is"),
        (b'"goal":"no findings"', b'"goal":"no endings?"', "the packet is"),
        (b'"trim":1', b'"trim":0', "the packet is"),
        (b'"seq":7', b'"seq":8', "seq is 8"),
    ],
)
@pytest.mark.parametrize("forged", [False, True])
def test_it_finds_what_verify_finds(
    old: bytes, new: bytes, what: str, forged: bool, folder: TraceFolder
) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    content = path.read_bytes()
    assert old in content
    lines = content.replace(old, new, 1).split(b"\n")[:-1]
    line = content[: content.index(old)].count(b"\n") + 1
    path.write_bytes(rechained(lines) if forged else b"\n".join(lines) + b"\n")
    status, said = check(folder.root)
    assert status == 1
    assert not verify_all(folder).ok
    hashes = [text for text in said if "the hash is not" in text]
    assert hashes == [] if forged else [f"{path}:{line}: the hash is not that of the line"]
    assert any(what in text for text in said) or not forged


@pytest.mark.parametrize("store", ["objects", "blobs"])
def test_it_misses_a_content(store: str, folder: TraceFolder) -> None:
    play_run(folder)
    next((folder.path / store).glob("??/*")).unlink()
    status, said = check(folder.root)
    assert status == 1
    assert f"{store[:-1]} " in said[0]


def fork(folder: TraceFolder, agent: Recorder, **origin: Any) -> Path:
    """Another agent's stream that goes on from the fourth line of `agent`'s."""
    name = agent_id("lint", RUN, NODE, 2)
    lines = list(read_lines(folder.existing_agent(agent.name)))
    parent = {"run_id": RUN, "agent_id": agent.name, "seq": 3, "hash": json.loads(lines[3])["hash"]}
    start = AgentStart(packet=agent.packet, parent={**parent, **origin.pop("parent", {})}, **origin)
    path = folder.agent_stream(name)
    with JsonlEventEmitter.open(path, agent_identity(name), blobs=folder.blobs) as writer:
        writer.emit(start, turn=0)
    return path


def test_sealed_streams_are_read_as_the_plain_ones(folder: TraceFolder) -> None:
    _, agent = play_run(folder)
    said = check(folder.root)
    for path in (folder.run_stream(RUN), folder.agent_stream(AGENT)):
        compress_stream(path)
    assert {path.suffix for path in folder.path.glob("*/*.jsonl*")} == {".zst"}
    assert check(folder.root) == said
    folder.agent_stream(AGENT).touch()  # its writer was killed before it thawed the stream
    assert check(folder.root) == said
    fork(folder, agent)
    assert check(folder.root)[0] == 0


@pytest.mark.parametrize("wrong", [{"hash": "0" * 64}, {"seq": 2}, {"seq": 99}, {"seq": -3}])
def test_a_fork_continues_from_its_parents_line(folder: TraceFolder, wrong: dict[str, Any]) -> None:
    _, agent = play_run(folder)
    digest = folder.objects.put(b"moved on")
    change = Change(path="src/a.py", before=None, after=digest, mode=0o644)
    rebased = {"src/b.py": {"sha256": digest, "mode": 0o644}, "src/c.py": None}
    path = fork(folder, agent, changes=(change,), rebased=rebased)
    assert check(folder.root)[0] == 0
    (folder.path / "objects" / digest[:2] / digest).unlink()
    assert len(check(folder.root)[1]) == 3  # once for the change, once for the base
    folder.objects.put(b"moved on")
    path.unlink()
    fork(folder, agent, parent=wrong)
    status, said = check(folder.root)
    assert (status, len(said)) == (1, 2)
    assert said[0] == f"{path}:1: not a line of {AGENT}"


def test_a_resumed_agent_began_twice(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    agent = play_agent(folder)
    agent.writer.close()
    run.writer.close()
    with folder.agent_stream(AGENT).open("ab") as torn:
        torn.write(b'{"v":1,"seq":')
    assert check(folder.root)[0] == 0
    run = RunRecorder.reopen(folder)
    run.job_start()
    agent.reopen()  # moves the torn tail aside
    run.job_end(agent.end())
    run.end()
    assert check(folder.root)[0] == 0
    assert verify_all(folder).ok


@pytest.mark.parametrize("recorded", [True, False])
def test_a_stream_may_be_gone_if_it_is_on_record(folder: TraceFolder, recorded: bool) -> None:
    """A run that is being removed: its agents' streams go first."""
    run, agent = play_run(folder)
    fork(folder, agent)
    entry = ExpiredStream(
        kind="agent", id=AGENT, run_id=RUN, head=agent.writer.head, bytes=1, reason="age"
    )
    entries = [entry, msgspec.structs.replace(entry, kind="run", id=RUN, head=run.writer.head)]
    if recorded:
        log_expired(folder, entries, datetime(2026, 1, 1, tzinfo=UTC))
    folder.agent_stream(AGENT).unlink()
    status, said = check(folder.root)
    assert status == (0 if recorded else 1)
    assert recorded or "not the head of" in said[0]
    if recorded:
        record = folder.path / "expired.jsonl"
        record.write_bytes(record.read_bytes().replace(b'"age"', b'"agE"', 1))
        assert check(folder.root)[1][0] == f"{record}:1: the hash is not that of the line"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=3,
).filter(lambda value: "\\ud" not in json.dumps(value))
KEYS = st.sampled_from([*(f"k{n}" for n in range(70)), "feedback", "é", "\U0001f600", "\uffee"])
NODES = st.sampled_from([NODE, *(f"node:{n}" for n in range(7))])
FACTS = st.dictionaries(KEYS, VALUES | st.just("x" * 480), max_size=50)

REFUSED = st.integers(190, 900).map(lambda n: {"x": "y" * n, "z": "w" * 250})


def excerpt(count: int, focus: int) -> Excerpt:
    """An excerpt of `count` different lines."""
    text = "\n".join(f"l{n}" for n in range(count))
    return Excerpt(ref="r", path="p", lines=(3, count + 2), text=text, focus=focus)


@st.composite
def deltas(draw: st.DrawFn) -> PacketDelta:
    """Any delta as the product makes them: caps on single values applied."""
    parts: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "update_knowledge": FACTS.map(knowledge),
                "forget_knowledge": st.lists(KEYS, max_size=4).map(tuple),
                "add_action": st.builds(
                    new_action,
                    st.sampled_from(["a", "b"]),
                    st.sampled_from([{}, {"x": 1}, {"x": True}]) | REFUSED,
                    st.just("done"),
                    st.sampled_from(["success", "error"]),
                ),
                "set_error": st.none() | st.just("bad"),
                "state_summary": st.just("so"),
                "excerpt": st.none() | st.builds(excerpt, st.integers(1, 40), st.integers(0, 44)),
                "candidate_actions": st.lists(
                    st.builds(candidate, st.just("t"), st.just({}), st.just("why")), max_size=5
                ).map(tuple),
                "diagnostics": st.lists(VALUES, max_size=25).map(tuple),
                "hub_context": st.dictionaries(NODES, st.none() | st.just({"f": 1})),
                "hub_freshness": st.dictionaries(NODES, st.none() | st.just("2026")),
                "extensions": st.dictionaries(KEYS, st.none() | st.just([1]), max_size=4),
            },
        )
    )
    return PacketDelta(**parts)


@pytest.mark.slow
@settings(max_examples=25)
@given(turns=st.lists(st.tuples(deltas(), st.integers(0, 90)), min_size=1, max_size=15))
def test_the_independent_checker_folds_and_trims_alike(
    turns: list[tuple[PacketDelta, int]],
) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        agent = Recorder(folder)
        for delta, steps in turns:
            agent.turn += 1
            agent.emit(TurnStart(), PacketDelta(turn=agent.turn))
            agent.emit(TurnStart(), delta)
            agent.decide({}, steps)
            assert trim(agent.packet, steps) == agent.shown[agent.turn]
        agent.writer.close()
        assert verify_all(folder).ok
        assert check(folder.root) == (
            0,
            [
                f"1 streams, {1 + 5 * len(turns)} events, {2 * len(turns)} packets compared, "
                "0 differences"
            ],
        )
