"""Every kind of problem is found on its line; the documentation lists them all."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from remora.memory.events import (
    AgentEnd,
    AgentStart,
    ContextUpdate,
    ModelRequest,
    Payload,
    RunStart,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.trace.read.reader import read_events, read_lines
from remora.trace.read.verified_reader import verified_head
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.stream_check import verify_stream
from remora.trace.verify.verify_report import Kind, Problem, StreamReport
from tests.stream_writer import open_emitter
from tests.trace.conftest import (
    AGENT,
    RUN,
    Recorder,
    RunRecorder,
    agent_identity,
    play_agent,
    play_run,
    rechained,
    target,
)

Edit = Callable[[list[bytes]], list[bytes]]


def agent_report(folder: TraceFolder) -> StreamReport:
    (report,) = verify_all(folder, AGENT).streams
    return report


def found(folder: TraceFolder) -> set[tuple[int, str]]:
    return {(problem.line, problem.kind) for problem in agent_report(folder).problems}


def on_lines(path: Path, edit: Edit, *, forged: bool) -> None:
    """Edit the lines, with or without correcting every hash."""
    lines = edit(list(read_lines(path)))
    path.write_bytes(rechained(lines) if forged else b"".join(line + b"\n" for line in lines))


def in_line(number: int, old: bytes, new: bytes) -> Edit:
    def edit(lines: list[bytes]) -> list[bytes]:
        assert old in lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(old, new, 1)
        return lines

    return edit


def first_line_of(folder: TraceFolder, kind: str) -> int:
    path = folder.agent_stream(AGENT)
    return next(event.seq + 1 for event in read_events(path) if event.type == kind)


class TestSound:
    def test_a_whole_run_verifies(self, folder: TraceFolder) -> None:
        run, agent = play_run(folder)
        report = verify_all(folder).as_json()
        assert report == {
            "ok": True,
            "streams": [
                {
                    "run_id": RUN,
                    "ok": True,
                    "head": {"count": run.writer.head.count, "hash": run.writer.head.hash},
                    "anchored": None,
                    "problems": [],
                },
                {
                    "agent_id": AGENT,
                    "ok": True,
                    "head": {"count": agent.writer.head.count, "hash": agent.writer.head.hash},
                    "anchored": True,
                    "problems": [],
                },
            ],
        }

    def test_it_writes_nothing(self, folder: TraceFolder) -> None:
        play_run(folder)
        (folder.traces / "torn.jsonl").write_bytes(b"torn")
        before = {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")}
        verify_all(folder)
        assert {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")} == before

    def test_a_missing_folder_holds_no_fault(self, tmp_path: Path) -> None:
        assert verify_all(TraceFolder(tmp_path)).as_json() == {"ok": True, "streams": []}

    def test_unknown_types_and_keys_of_a_newer_version_are_no_fault(
        self, folder: TraceFolder
    ) -> None:
        class Novelty(Payload, frozen=True, kw_only=True):
            type = "novelty"
            idea: str = "new"

        agent = Recorder(folder)
        agent.emit(Novelty())
        agent.writer.close()
        on_lines(folder.agent_stream(AGENT), in_line(2, b'"idea"', b'"a":1,"idea"'), forged=True)
        on_lines(folder.agent_stream(AGENT), in_line(2, b'"data"', b'"x":1,"data"'), forged=True)
        assert agent_report(folder).ok

    def test_a_recovered_stream_is_sound(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.writer.close()
        path = folder.agent_stream(AGENT)
        with path.open("ab") as file:
            file.write(b"torn")
        assert found(folder) == {(2, "torn_tail")}
        open_emitter(path, agent_identity(), blobs=folder.blobs).close()
        assert found(folder) == set()


class TestLines:
    @pytest.mark.parametrize("tail", [b"{", b"\0" * 99, b"nonsense\n"])
    def test_a_torn_tail(self, tail: bytes, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        with folder.agent_stream(AGENT).open("ab") as file:
            file.write(tail)
        report = agent_report(folder)
        assert found(folder) == {(agent.writer.head.count + 1, "torn_tail")}
        assert report.head == agent.writer.head
        assert "lost" not in report.problems[0].detail  # a changed last line looks the same

    def test_a_line_that_is_not_json(self, folder: TraceFolder) -> None:
        play_run(folder)
        path = folder.agent_stream(AGENT)
        on_lines(path, lambda lines: [*lines[:4], b"no json", *lines[4:]], forged=False)
        assert {(5, "bad_json")} <= found(folder)
        assert {line for line, kind in found(folder) if kind == "bad_json"} == {5}

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'"v":1', b'"v":2'),
            (b'"turn":0', b'"turn":-1'),
            (b'"turn":0', b'"turn":"0"'),
            (b'"type":"agent_start"', b'"type":"turn_start"'),
            (b'"type":"agent_start"', b'"type":"run_start"'),
            (b'"goal":"no findings"', b'"goal":7'),
            (b'"timestamp":"2026', b'"timestamp":"26'),
            (f'"agent_id":"{AGENT}","op'.encode(), b'"agent_id":"other","op'),
            (b'"packet_delta":null', b'"packet_delta":{"turn":"x"}'),
        ],
    )
    def test_a_forged_line_that_does_not_fit(
        self, old: bytes, new: bytes, folder: TraceFolder
    ) -> None:
        play_run(folder)
        on_lines(folder.agent_stream(AGENT), in_line(1, old, new), forged=True)
        assert (1, "schema") in found(folder)

    def test_data_that_is_not_an_object(self, folder: TraceFolder) -> None:
        class Novelty(Payload, frozen=True, kw_only=True):
            type = "novelty"

        agent = Recorder(folder)
        agent.emit(Novelty())
        agent.writer.close()
        on_lines(folder.agent_stream(AGENT), in_line(2, b'"data":{}', b'"data":[]'), forged=True)
        assert found(folder) == {(2, "schema")}

    def test_an_event_after_the_end(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        path = folder.agent_stream(AGENT)
        last = agent.writer.head.count
        again = f'"seq":{last}'.encode()
        on_lines(path, lambda lines: [*lines, lines[1].replace(b'"seq":1', again)], forged=True)
        assert {(last + 1, "schema"), (last + 1, "anchor")} <= found(folder)

    @pytest.mark.parametrize("old", [b'"seq":4', b'"run_id":"run-1"', b'"turn":1', b'"packet_del'])
    def test_a_changed_line_breaks_the_chain_there_and_nowhere_else(
        self, old: bytes, folder: TraceFolder
    ) -> None:
        play_run(folder)
        changed = old[:-2] + bytes([old[-2] ^ 1]) + old[-1:]
        on_lines(folder.agent_stream(AGENT), in_line(5, old, changed), forged=False)
        assert {line for line, kind in found(folder) if kind == "chain"} == {5}

    def test_a_changed_hash_is_named_on_its_own_line_only(self, folder: TraceFolder) -> None:
        play_run(folder)

        def edit(lines: list[bytes]) -> list[bytes]:
            flipped = b"0" if lines[4][-10:-9] != b"0" else b"1"
            lines[4] = lines[4][:-10] + flipped + lines[4][-9:]
            return lines

        on_lines(folder.agent_stream(AGENT), edit, forged=False)
        assert found(folder) == {(5, "chain")}

    @pytest.mark.parametrize("forged", [False, True])
    def test_a_line_that_went_is_missed_where_it_was(
        self, forged: bool, folder: TraceFolder
    ) -> None:
        play_run(folder)
        path = folder.agent_stream(AGENT)
        on_lines(path, lambda lines: lines[:2] + lines[3:], forged=forged)
        assert (3, "seq") in found(folder)
        assert ((3, "chain") in found(folder)) is not forged


class TestContent:
    def test_a_forged_delta_changes_every_later_packet(self, folder: TraceFolder) -> None:
        play_run(folder)
        line = first_line_of(folder, "tool_result")
        path = folder.agent_stream(AGENT)
        on_lines(path, in_line(line, b'"F401":"line=1"', b'"F401":"line=2"'), forged=True)
        lines = {number for number, kind in found(folder) if kind == "projection"}
        events = list(read_events(path))
        named = {"model_request", "tool_call", "agent_error"}
        assert lines == {
            e.seq + 1 for e in events if e.type in named and e.seq + 1 > line
        }  # fmt: skip

    @pytest.mark.parametrize("kind", ["model_request", "tool_call", "agent_error"])
    def test_a_forged_packet_hash(self, kind: str, folder: TraceFolder) -> None:
        play_run(folder)
        line = first_line_of(folder, kind)
        event = list(read_events(folder.agent_stream(AGENT)))[line - 1]
        digest = json.loads(bytes(event.data))["packet_sha256"].encode()
        path = folder.agent_stream(AGENT)
        on_lines(path, in_line(line, digest, b"0" * 64), forged=True)
        assert (line, "projection") in found(folder)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"Goal: no findings", b"Goal: none found!"),
            (b'"renderer":"lines/2"', b'"renderer":"lines/9"'),
            (b'"prompt":null', b'"prompt":""'),
        ],
    )
    def test_a_forged_prompt(self, old: bytes, new: bytes, folder: TraceFolder) -> None:
        play_run(folder)
        line = first_line_of(folder, "model_request")
        on_lines(folder.agent_stream(AGENT), in_line(line, old, new), forged=True)
        assert (line, "prompt") in found(folder)

    def test_a_form_of_answers_of_an_older_version_is_named(self, folder: TraceFolder) -> None:
        play_run(folder)
        line = first_line_of(folder, "model_request")
        old, new = b'"strategy":"grammar"', b'"strategy":"rank"'
        on_lines(folder.agent_stream(AGENT), in_line(line, old, new), forged=True)
        (problem,) = [each for each in agent_report(folder).problems if each.kind == "prompt"]
        assert problem.detail == "unknown form of answers 'rank'; the prompt is not compared"

    def test_a_prompt_that_went_to_a_blob_is_compared_whole(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.start_turn(*({"line": n, "why": "x" * 30_000} for n in range(3)))
        agent.decide({})
        agent.writer.close()
        line = first_line_of(folder, "model_request")
        assert b'"$blob"' in list(read_lines(agent.writer.path))[line - 1]
        assert agent_report(folder).ok

    @pytest.mark.parametrize("harm", ["gone", "changed", "link"])
    @pytest.mark.parametrize("store", ["blobs", "objects"])
    def test_every_content_that_is_named_must_be_there(
        self, store: str, harm: str, folder: TraceFolder
    ) -> None:
        play_run(folder)
        stored = getattr(folder, store)
        problems: set[tuple[int, str]] = set()
        files = [path for path in stored.folder.glob("??/*") if path.is_file()]
        for path in files:
            content = path.read_bytes()
            path.unlink()
            if harm == "changed":
                path.write_bytes(content + b"!")
            elif harm == "link":
                path.symlink_to(path.parent)
            harmed = {(p.line, p.kind) for r in verify_all(folder).streams for p in r.problems}
            assert {kind for _, kind in harmed} == {"blob"}
            problems |= harmed
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        assert len(files) >= (1 if store == "blobs" else 3)
        assert verify_all(folder).ok

    @pytest.mark.parametrize(
        "reference", [{}, 7, {"sha256": 1}, {"sha256": "0" * 64, "bytes": 1}, None]
    )
    def test_an_invalid_reference(self, reference: Any, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.emit(ContextUpdate(source="hub", value="HERE"))
        agent.writer.close()
        put = json.dumps({"$blob": reference}).replace(" ", "").encode()
        on_lines(folder.agent_stream(AGENT), in_line(2, b'"HERE"', put), forged=True)
        assert found(folder) == {(2, "blob")}

    def test_a_description_that_is_not_the_blobs(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.emit(ContextUpdate(source="hub", value="x" * 70_000))
        agent.writer.close()
        on_lines(folder.agent_stream(AGENT), in_line(2, b":70000", b":70001"), forged=True)
        assert found(folder) == {(2, "blob")}

    def test_what_only_looks_like_a_reference_is_none(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.emit(ToolResulted(tool="t", raw_output={"$blob": {"sha256": "0" * 64}}))
        agent.writer.close()
        assert agent_report(folder).ok

    def test_a_change_set_that_is_not_the_hashed_one(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        line = agent.writer.head.count
        path = folder.agent_stream(AGENT)
        on_lines(path, in_line(line, b'"mode":420', b'"mode":493'), forged=True)
        assert (line, "blob") in found(folder)

    def test_a_base_file_without_content(self, folder: TraceFolder) -> None:
        path = folder.run_stream(RUN)
        with open_emitter(path, Identity(RUN), blobs=folder.blobs) as writer:
            writer.emit(RunStart(base={"files": {"a": {"sha256": "0" * 64}, "b": 3}}), turn=0)
        (report,) = verify_all(folder, RUN).streams
        assert [(p.line, p.kind) for p in report.problems] == [(1, "blob")] * 2


class TestAlone:
    """A stream by itself in any folder: checks that need no run."""

    def test_a_stream_verifies_by_its_path(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        moved = folder.agent_stream(AGENT).rename(folder.root / f"{AGENT}.jsonl")
        report = verify_stream(target(folder, moved))
        assert (report.ok, report.anchored, report.head) == (True, False, agent.writer.head)
        on_lines(moved, in_line(4, b"Goal: no findings", b"Goal: none found!"), forged=True)
        assert [p.kind for p in verify_stream(target(folder, moved)).problems] == ["prompt"]

    def test_a_missing_file_is_a_problem_and_no_exception(self, folder: TraceFolder) -> None:
        (problem,) = verify_stream(target(folder, folder.root / "x.jsonl")).problems
        assert isinstance(problem, Problem)
        assert (problem.line, problem.kind) == (1, "schema")


def test_a_packet_that_no_fold_can_take_is_a_problem_of_its_line(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.emit(TurnStart())
    agent.emit(ModelRequest(packet_sha256="x", trim=-1))
    agent.writer.close()
    assert found(folder) == {(3, "projection")}


def test_only_the_first_of_very_many_problems_are_kept(folder: TraceFolder) -> None:
    path = folder.agent_stream(AGENT)
    path.write_bytes(b"nonsense\n" * 10_000)
    problems = agent_report(folder).problems
    assert len(problems) == 201
    assert "more problems" in problems[-1].detail


def test_agents_without_a_start_or_packet_are_named(folder: TraceFolder) -> None:
    path = folder.agent_stream(AGENT)
    with open_emitter(path, agent_identity(), blobs=folder.blobs) as writer:
        writer.emit(TurnStart(), turn=1)
        writer.emit(AgentStart(packet=DecisionPacket()), turn=1)
        writer.emit(AgentEnd(status="failed", stop_reason="max_turns"), turn=1)
    assert (1, "schema") in found(folder)


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
