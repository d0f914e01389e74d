"""A disk that fails at every k-th call: what was told to be safe is, and all failures are told."""

import json
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from remora.errors import StreamDamaged
from remora.memory.events import Head, TurnStart
from remora.trace.content.line_format import hashed_lines
from remora.trace.read.reader import open_stream, read_events
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.crash.faults import CALLS, IDENTITY
from tests.forked_process import warm
from tests.stream_writer import open_emitter

FAULTS = Path(__file__).parent / "faults.py"
SYNCS = ("fdatasync", "fsync")
OFTEN = {"write": 5, "fdatasync": 17}
ERRORS = ("ENOSPC", "EIO")


@dataclass
class Found:
    """What one process did, and what is left of it after the power failed."""

    fired: int
    safe: int
    errors: dict[str, int]
    wrong: list[str]


def play(root: Path, call: str, error: str, every: int) -> Found:
    root.mkdir()
    said, err = root / "said", root / "err"
    words = [str(word) for word in (FAULTS, root, call, error, every)]
    status = warm().run(words, cwd=root, environ=os.environ, out=said, err=err)
    assert status == 0, err.read_text()
    told = json.loads(said.read_text())
    wrong = list(told["wrong"])
    if call not in SYNCS:  # where a sync failed, what it was for may be gone
        wrong += [f"{digest} was appended and is not there" for digest in told["unwritten"]]
    folder = TraceFolder(root)
    for path, safe in (
        (folder.agent_stream(IDENTITY.agent_id), told["safe"]),
        (folder.run_stream(IDENTITY.run_id), told["of_run"]),
    ):
        wrong += missing(path, safe)
    wrong += damaged(folder, told["safe"])
    return Found(told["fired"], len(told["safe"]) + len(told["of_run"]), told["errors"], wrong)


def missing(path: Path, safe: dict[str, str]) -> list[str]:
    try:
        found = {str(e.seq): e.hash for e in read_events(path)} if path.exists() else {}
    except StreamDamaged as error:
        return [error.message]
    return [f"{path.name}: event {seq}" for seq in safe if found.get(seq) != safe[seq]]


def damaged(folder: TraceFolder, safe: dict[str, str]) -> list[str]:
    """What is wrong with what is left, and whether it can be gone on with."""
    path = folder.agent_stream(IDENTITY.agent_id)
    try:
        with open_emitter(path, IDENTITY, blobs=folder.blobs) as writer:
            writer.emit(TurnStart(), turn=99)
    except StreamDamaged as error:
        return [error.message]
    wrong = [
        f"{stream.name}: {problem.kind} in line {problem.line}: {problem.detail}"
        for stream in verify_all(folder).streams
        for problem in stream.problems
        # a stream of only these events has no beginning, a run no agent that ended
        if problem.kind not in ("schema", "anchor", "torn_tail")
        # who was told that a content cannot be synced has its name, and no promise
        and (problem.kind != "blob" or str(problem.line - 1) in safe)
    ]
    heads = folder.root / "state" / "heads" / f"{IDENTITY.run_id}.json"
    if heads.exists():
        head = msgspec.json.decode(heads.read_bytes(), type=Head)
        with open_stream(folder.run_stream(IDENTITY.run_id)) as source:
            digests = [digest for _, digest in islice(hashed_lines(source), head.count)]
        if len(digests) < head.count or digests[-1] != head.hash:
            wrong.append("the run does not hold what was remembered of it")
    return wrong


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_call_that_fails_now_and_then(call: str, tmp_path: Path) -> None:
    found = play(tmp_path / "project", call, "EIO", OFTEN[call])
    assert found.wrong == []
    assert found.fired > 0, "nothing failed"
    assert found.errors, "nobody was told"
    assert found.safe > 0, "nothing was ever safe, so nothing could be lost"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("call", CALLS)
def test_every_k_th_call(call: str, error: str, tmp_path: Path) -> None:
    fired = safe = 0
    for every in (1, 2, 3, 4, 5, 7, 9, 11, 16, 23, 37, 60, 97):
        found = play(tmp_path / str(every), call, error, every)
        assert found.wrong == [], f"each {every}th {call}"
        fired += found.fired
        safe += found.safe
    assert fired > 100
    assert safe > 100
