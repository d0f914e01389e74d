"""Origins of forks, retries and resumed agents."""

import json
from typing import Any

import pytest

from remora.memory.events import AgentStart, Head, JobStart
from remora.trace.read.reader import read_events, read_lines
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import (
    AGENT,
    NODE,
    RUN,
    Recorder,
    RunRecorder,
    play_agent,
    play_run,
    rechained,
)

FORK = "lint-fork"


def fork(folder: TraceFolder, **origin: Any) -> None:
    """Return a fork without turns, whose `agent_start` has `origin` too."""
    recorder = Recorder(folder, FORK)
    recorder.writer.close()
    (line,) = read_lines(recorder.writer.path)
    document = json.loads(line)
    document["data"] |= origin
    recorder.writer.path.write_bytes(
        rechained([json.dumps(document, separators=(",", ":")).encode()])
    )


def parent(folder: TraceFolder, seq: int) -> dict[str, Any]:
    (event,) = [e for e in read_events(folder.agent_stream(AGENT)) if e.seq == seq]
    return {"run_id": RUN, "agent_id": AGENT, "seq": seq, "hash": event.hash}


def found(folder: TraceFolder, name: str = FORK) -> list[tuple[int, str]]:
    (report,) = verify_all(folder, name).streams
    return [(problem.line, problem.kind) for problem in report.problems]


class TestParent:
    @pytest.mark.parametrize("seq", [0, 5])
    def test_a_fork_continues_from_a_line_of_its_parent(
        self, seq: int, folder: TraceFolder
    ) -> None:
        play_run(folder)
        fork(folder, parent=parent(folder, seq))
        (report,) = verify_all(folder, FORK).streams
        assert (report.ok, report.anchored) == (True, False)

    @pytest.mark.parametrize("other", [{"hash": "0" * 64}, {"seq": 4}, {"seq": 4_000}])
    def test_a_line_that_the_parent_does_not_have(
        self, other: dict[str, Any], folder: TraceFolder
    ) -> None:
        play_run(folder)
        fork(folder, parent=parent(folder, 5) | other)
        assert found(folder) == [(1, "anchor")]

    def test_a_parent_that_was_cut_behind_the_forks_back(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        fork(folder, parent=parent(folder, 8))
        kept = list(read_lines(agent.writer.path))[:8]
        agent.writer.path.write_bytes(b"".join(line + b"\n" for line in kept))
        assert found(folder) == [(1, "anchor")]

    def test_a_parent_that_expired_is_not_a_fault(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        fork(folder, parent=parent(folder, 8))
        agent.writer.path.unlink()
        assert found(folder) == []

    def test_a_parent_of_which_nothing_was_written(self, folder: TraceFolder) -> None:
        play_run(folder)
        fork(folder, parent=parent(folder, 0) | {"seq": -1, "hash": "0" * 64})
        assert found(folder) == []

    @pytest.mark.parametrize(
        "origin",
        [
            {"parent": 7},
            {"parent": {"agent_id": AGENT}},
            {"parent": {"run_id": RUN, "agent_id": "../x", "seq": 1, "hash": ""}},
            {"rebased": ["a.py"]},
            {"changes": [{"path": "a.py"}]},
        ],
    )
    def test_what_is_not_an_origin(self, origin: dict[str, Any], folder: TraceFolder) -> None:
        fork(folder, **origin)
        assert set(found(folder)) == {(1, "schema")}


class TestFiles:
    @pytest.mark.parametrize("stored", [True, False])
    def test_every_content_that_it_begins_with_must_be_there(
        self, stored: bool, folder: TraceFolder
    ) -> None:
        digests = [f"{n}" * 64 for n in range(3)]
        if stored:
            digests = [folder.objects.put(b"content %d" % n) for n in range(3)]
        fork(
            folder,
            rebased={"a.py": {"sha256": digests[0], "mode": 420}, "gone.py": None},
            changes=[{"path": "b.py", "before": digests[1], "after": digests[2], "mode": 420}],
        )
        assert found(folder) == [] if stored else [(1, "blob")] * 3


class TestResumed:
    def test_an_agent_that_began_twice_and_decided_a_turn_twice(self, folder: TraceFolder) -> None:
        """Killed after its decision, it is resumed and decides the turn again."""
        run = RunRecorder(folder)
        run.job_start()
        agent = Recorder(folder)
        agent.start_turn({"line": 1}, {"line": 2})
        agent.decide({"line": 1})
        agent.writer.close()
        agent.reopen()
        run.job_start()
        agent.turn = 0
        agent.start_turn({"line": 2})
        agent.decide({"line": 2})
        agent.result({"src/a.py": b"import re\n"})
        run.job_end(agent.end())
        run.end()
        assert verify_all(folder).ok

    def test_an_interrupted_attempt_may_be_anchored_without_an_end(
        self, folder: TraceFolder
    ) -> None:
        run = RunRecorder(folder)
        run.job_start()
        agent = play_agent(folder)
        agent.writer.close()
        run.job_end(agent.writer.head)
        run.emit(JobStart(agent_id=FORK, operation="lint", node_id=NODE, attempt=2))
        fork(folder, parent=parent(folder, agent.writer.head.count - 1))
        run.end()
        report = {one.name: (one.ok, one.anchored) for one in verify_all(folder).streams}
        assert report == {RUN: (True, None), AGENT: (True, True), FORK: (True, False)}

    def test_a_job_that_ended_before_its_agent_wrote_anything(self, folder: TraceFolder) -> None:
        run = RunRecorder(folder)
        run.job_start()
        run.job_end(Head())
        run.end()
        assert verify_all(folder).ok


class TestVersions:
    """Unknown versions are reported, never guessed."""

    @pytest.mark.parametrize("version", [{"fold": "fold/9"}, {"trim": "trim/9"}])
    def test_an_unknown_fold_or_trim_list(
        self, version: dict[str, str], folder: TraceFolder
    ) -> None:
        agent = Recorder(folder)
        agent.start_turn({"line": 1})
        agent.decide({"line": 1})
        agent.writer.close()
        lines = list(read_lines(agent.writer.path))
        document = json.loads(lines[0])
        assert document["type"] == AgentStart.type
        document["data"] |= version
        lines[0] = json.dumps(document, separators=(",", ":")).encode()
        agent.writer.path.write_bytes(rechained(lines))
        (report,) = verify_all(folder, AGENT).streams
        (problem,) = report.problems
        assert (problem.line, problem.kind) == (1, "projection")
        assert "not supported" in problem.detail
