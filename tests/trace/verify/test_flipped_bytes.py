"""Every change of a single byte of a stream is found."""

import contextlib
import os
from pathlib import Path

import pytest

from remora.errors import StreamDamaged
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, TurnStart
from remora.trace.stream.recovery import check_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.stream_check import VerifyTarget, verify_stream
from remora.trace.verify.verify_report import StreamReport
from tests.trace.conftest import AGENT, Recorder, RunRecorder, play_run, target

FLIPS = (0x01, 0x20, 0x80, 0xFF)


def small_stream(folder: TraceFolder) -> Path:
    agent = Recorder(folder)
    agent.turn = 1
    agent.emit(TurnStart(), PacketDelta(turn=1))
    agent.emit(AgentEnd(status="no_change", stop_reason="no_change"))
    agent.writer.close()
    return agent.writer.path


def write(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def check(alone: VerifyTarget, content: bytes, place: int, byte: int) -> None:
    changed = content[:place] + bytes([byte]) + content[place + 1 :]
    write(alone.path, changed)
    report: StreamReport = verify_stream(alone)
    line = content.count(b"\n", 0, place) + 1
    lines = [problem.line for problem in report.problems]
    assert line in lines, f"byte {place} of line {line} to {byte:#x}: {report.problems}"
    assert min(lines) == line
    # a byte that is no line's end is told on its own line alone, unless it became one
    if content[place] != 10 and byte != 10:
        assert set(lines) == {line}
    with alone.path.open("rb") as file, contextlib.suppress(StreamDamaged):
        assert check_stream(file.fileno(), alone.path).torn, "a writer would go on with it"


@pytest.mark.slow
def test_every_byte_with_every_bit_flipped_and_as_a_newline(folder: TraceFolder) -> None:
    path = small_stream(folder)
    content = path.read_bytes()
    alone = target(folder, path)
    assert verify_stream(alone).ok
    for place, byte in enumerate(content):
        for changed in {byte ^ flip for flip in FLIPS} | {10, 0} - {byte}:
            check(alone, content, place, changed)
    write(path, content)
    assert verify_stream(target(folder, path)).ok


def test_every_byte_of_a_runs_stream(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    path = run.writer.path
    run.end()
    content = path.read_bytes()
    for place, byte in enumerate(content):
        check(target(folder, path, of_run=True), content, place, byte ^ 1)


@pytest.mark.slow
def test_every_byte_of_a_whole_job(folder: TraceFolder) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    content = path.read_bytes()
    for place, byte in enumerate(content):
        check(target(folder, path), content, place, byte ^ (1 << place % 8))


@pytest.mark.parametrize("cut", ["a line", "a byte", "all"])
def test_a_stream_that_was_cut_is_found_by_its_anchor_or_its_end(
    cut: str, folder: TraceFolder
) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    content = path.read_bytes()
    size = {"a line": content.rindex(b"\n", 0, -1) + 1, "a byte": len(content) - 1, "all": 0}[cut]
    os.truncate(path, size)
    (report,) = verify_all(folder, AGENT).streams
    expected = {"a line": {"anchor"}, "a byte": {"torn_tail", "anchor"}, "all": {"anchor"}}[cut]
    assert {problem.kind for problem in report.problems} == expected
    assert report.anchored is False
