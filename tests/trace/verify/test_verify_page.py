"""docs/reference/verify.md: all ten kinds are listed, those of files have an example; its program works."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from remora.trace.read.reader import read_lines
from remora.trace.read.verified_reader import verified_head
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.verify_report import Kind
from tests.trace.conftest import AGENT, RunRecorder, play_agent, rechained

PAGE = (Path(__file__).parents[3] / "docs/reference/verify.md").read_text(encoding="utf-8")
Fault = Callable[[TraceFolder, Path], None]


def edited(old: bytes, new: bytes, *, forged: bool = True) -> Fault:
    """Edit the first line that contains the text; `forged` corrects every hash."""

    def make(_: TraceFolder, path: Path) -> None:
        lines = list(read_lines(path))
        place = next(at for at, line in enumerate(lines) if old in line)
        lines[place] = lines[place].replace(old, new, 1)
        path.write_bytes(rechained(lines) if forged else b"".join(b"%b\n" % line for line in lines))

    return make


def torn(_: TraceFolder, path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"v":1,"seq"')


def without_an_answer(_: TraceFolder, path: Path) -> None:
    lines = [line for line in read_lines(path) if b'"type":"model_response"' not in line]
    path.write_bytes(rechained(lines))


def cut_at_a_line(folder: TraceFolder, path: Path) -> None:
    run = RunRecorder.reopen(folder)
    run.job_end(verified_head(path))
    run.writer.close()
    content = path.read_bytes()
    os.truncate(path, content.rindex(b"\n", 0, -1) + 1)


def without_a_blob(folder: TraceFolder, _: Path) -> None:
    (blob,) = (path for path in folder.blobs.folder.glob("??/*") if path.is_file())
    blob.unlink()


FAULTS: dict[str, Fault] = {
    "torn_tail": torn,
    "bad_json": edited(b'"turn":1', b'"turn":,'),
    "schema": edited(b'"turn":1', b'"turn":"1"'),
    "chain": edited(b'"turn":1', b'"turn":2', forged=False),
    "seq": without_an_answer,
    "anchor": cut_at_a_line,
    "projection": edited(b'"F401":"line=1"', b'"F401":"line=2"'),
    "prompt": edited(b"Goal: no findings", b"Goal: none found!"),
    "blob": without_a_blob,
}


@pytest.fixture
def stream(folder: TraceFolder) -> Path:
    """The stream of a running agent, with a run."""
    run = RunRecorder(folder)
    run.job_start()
    run.writer.close()
    agent = play_agent(folder)
    agent.writer.close()
    assert verify_all(folder).ok
    return agent.writer.path


@pytest.mark.parametrize("kind", FAULTS)
def test_each_kind_has_a_fault_that_is_of_no_other(
    kind: str, folder: TraceFolder, stream: Path
) -> None:
    FAULTS[kind](folder, stream)
    report = verify_all(folder)
    assert {problem.kind for one in report.streams for problem in one.problems} == {kind}
    assert not report.ok


def test_the_page_shows_every_kind_and_no_other() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert told == list(get_args(Kind)) == [*FAULTS, "copy"]  # of a database


def test_the_pages_program_checks_a_head(stream: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert program.count("\n") <= 25
    names: dict[str, Any] = {}
    exec(compile(program, "docs/reference/verify.md", "exec"), names)
    holds = names["holds"]
    head = verified_head(stream)
    assert holds(stream, head.count, head.hash)
    first = next(read_lines(stream))[-66:-2].decode()
    assert holds(stream, 1, first)
    assert not holds(stream, head.count, first)
    assert not holds(stream, head.count + 1, head.hash)
    edited(b'"turn":1', b'"turn":2', forged=False)(TraceFolder(stream.parent), stream)
    with pytest.raises(SystemExit, match="does not match its hash"):
        holds(stream, head.count, head.hash)


def test_an_agent_that_is_at_work_is_not_a_fault(folder: TraceFolder, stream: Path) -> None:
    report = verify_all(folder, AGENT).streams[0]
    assert (report.ok, report.anchored, report.name) == (True, False, stream.stem)
