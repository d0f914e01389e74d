"""Retention killed at any moment: what stays is whole, and the next one completes it."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.ids import agent_id
from remora.memory.canonical import canonical_sha256
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    Change,
    JobEnd,
    JobStart,
    Payload,
    Review,
    RunEnd,
    RunStart,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.runs.retention.retention_rules import limits_of
from remora.trace.read.verified_reader import verified_head
from remora.trace.removal import read_expired, referenced_contents, stored_contents
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.trace.verify.folder_check import verify_all
from tests.runs.retention.test_old_records import retain
from tests.stream_writer import open_emitter

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NODE = "node:a.py:f"
CHILD = """
import sys
from datetime import datetime
from pathlib import Path
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.runs.retention.inventory import take_inventory
from remora.runs.retention.old_records import old_records
from remora.runs.retention.removable import remove_all
from remora.runs.retention.retention_rules import limits_of
root = Path(sys.argv[1])
project = open_project(Invocation(environ={"HOME": sys.argv[2]}, folder=root, root=root))
if len(sys.argv) > 4:  # a step is an audited act of Python's, such as a file opened or removed
    import os
    left = int(sys.argv[4])
    def step(*_):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
    sys.addaudithook(step)
print("ready", flush=True)
limits = limits_of(project.config.runner.memory.retention)
now = datetime.fromisoformat(sys.argv[3])
remove_all(old_records(project, take_inventory(project.trace, now), limits, now))
if len(sys.argv) > 4:
    print(int(sys.argv[4]) - left)
"""


def write(folder: TraceFolder, days: int, number: int, *, reviewed: bool) -> None:
    """A run of two jobs so many days before NOW, each with a change and a long output."""
    run_id = f"run-{days:03}-{number}"

    def opened(path: Path, identity: Identity) -> JsonlEventEmitter:
        return open_emitter(
            path, identity, blobs=folder.blobs, objects=folder.objects, durability="none",
            clock=lambda: NOW - timedelta(days=days),
        )  # fmt: skip

    with opened(folder.run_stream(run_id), Identity(run_id)) as run:
        run.emit(RunStart(base={"commit": None, "files": {}}), turn=0)
        for attempt in (1, 2):
            name = agent_id("lint", run_id, NODE, attempt)
            run.emit(JobStart(agent_id=name, operation="lint", node_id=NODE), turn=0)
            digest = folder.objects.put(f"{run_id} {attempt}\n".encode())
            changes = (Change(path="a.py", before=None, after=digest, mode=0o644),)
            output = "".join(f"{run_id} {attempt} {n}\n" for n in range(9_000))
            events: list[Payload] = [
                AgentStart(packet=DecisionPacket(agent_id=name, run_id=run_id), renderer="lines/2"),
                ToolResulted(tool="t", raw_output=output, changes=changes),
                AgentEnd(
                    status="submitted",
                    stop_reason="submitted",
                    change_set=changes,
                    change_set_sha256=canonical_sha256(changes),
                ),
            ]
            identity = Identity(run_id, name, "lint", NODE)
            with opened(folder.agent_stream(name), identity) as agent:
                for event in events:
                    agent.emit(event, turn=0)
            ended = JobEnd(
                agent_id=name, operation="lint", node_id=NODE, status="submitted", head=agent.head
            )
            run.emit(ended, turn=0)
            if reviewed:
                run.emit(Review(verdict="rejected", agent_id=name, head=agent.head), turn=0)
        run.emit(RunEnd(), turn=0)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs to be compressed, runs to expire, and runs that wait for a verdict."""
    root = tmp_path_factory.mktemp("before") / "project"
    root.mkdir()
    folder = TraceFolder(root)
    folder.create()
    for number in range(4):
        write(folder, 400, number, reviewed=True)
        write(folder, 10, number, reviewed=True)
    for days in (400, 10):
        write(folder, days, 9, reviewed=False)
    then = (NOW - timedelta(days=5)).timestamp()
    for store in (folder.blobs.folder, folder.objects.folder):
        for path in store.rglob("?" * 64):
            os.utime(path, (then, then))
    assert verify_all(folder).ok
    return root


def run_child(root: Path, home: Path, *steps: int) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-c", CHILD, str(root), str(home), NOW.isoformat(), *map(str, steps)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert child.stdout
    assert child.stdout.readline() == b"ready\n"
    return child


def digests(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def heads(folder: TraceFolder) -> dict[str, object]:
    return {
        stream_id(p): verified_head(p) for p in (*folder.agent_streams(), *folder.run_streams())
    }


def check_nothing_lost(
    folder: TraceFolder, were: dict[str, object], named: dict[str, frozenset[str]]
) -> None:
    """Each stream is what it was, or it is on record and was to go."""
    now = heads(folder)
    logged = {entry.id: entry for entry in read_expired(folder)}
    for name, head in were.items():
        if name in now:
            assert now[name] == head
        else:
            assert logged[name].head == head
            assert logged[name].run_id.startswith("run-400-")
            assert not logged[name].run_id.endswith("-9")
    for path in folder.agent_streams():
        for name in named[stream_id(path)]:
            store = folder.objects if folder.blobs.problem(name) else folder.blobs
            assert store.problem(name) is None, f"{path.name} names a content that went"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rounds", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_a_kill_at_a_step_loses_nothing(rounds: int, before: Path, tmp_path: Path) -> None:
    """At its acts on files and not at moments, so that the rare ones are met too; and twice."""
    home = tmp_path / "home"
    home.mkdir()
    folder = TraceFolder(before)
    were = heads(folder)
    known = {content.path.name for content in stored_contents(folder)}
    named = {stream_id(path): referenced_contents(path, known) for path in folder.agent_streams()}
    assert {len(names) for names in named.values()} == {2}
    whole = tmp_path / "whole"
    shutil.copytree(before, whole)
    out, _ = run_child(whole, home, 10**9).communicate()
    steps, wanted = int(out), digests(whole)
    check_nothing_lost(TraceFolder(whole), were, named)
    left = {name for name in heads(TraceFolder(whole)) if name.startswith("run-")}
    assert left == {f"run-010-{n}" for n in (0, 1, 2, 3, 9)} | {"run-400-9"}
    assert steps > 100
    for number in range(rounds):
        root = tmp_path / f"round-{number}"
        shutil.copytree(before, root)
        for again in (1, 2):  # the second begins where the first was killed
            step = 1 + int((steps - 2) * ((number + 0.5) * 0.618 / again % 1))
            child = run_child(root, home, step)
            child.communicate()
            assert child.returncode in (-9, 0) if again == 2 else child.returncode == -9
            check_nothing_lost(TraceFolder(root), were, named)
        project = open_project(Invocation(environ={"HOME": str(home)}, folder=root, root=root))
        limits = limits_of(project.config.runner.memory.retention)
        assert retain(project, limits, NOW).problems == ()
        assert {n: d for n, d in digests(root).items() if "~" not in n} == wanted
        shutil.rmtree(root)
