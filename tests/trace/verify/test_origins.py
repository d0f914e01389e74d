"""Anchors in a run's stream, and origins of forks, retries and resumed agents."""

import json
from typing import Any

import pytest

from remora.errors import DiskError, NotFound
from remora.memory.events import AgentStart, Head, JobStart, Review
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

Found = dict[str, tuple[bool | None, list[tuple[int, str]]]]


def found(folder: TraceFolder) -> Found:
    return {
        report.name: (report.anchored, [(p.line, p.kind) for p in report.problems])
        for report in verify_all(folder).streams
    }


@pytest.fixture
def run(folder: TraceFolder) -> RunRecorder:
    """A run whose job has started."""
    run = RunRecorder(folder)
    run.job_start()
    return run


def test_a_job_that_ended_is_anchored(folder: TraceFolder) -> None:
    play_run(folder)
    assert found(folder) == {RUN: (None, []), AGENT: (True, [])}


def test_an_interrupted_run_is_not_a_fault(folder: TraceFolder, run: RunRecorder) -> None:
    run.writer.close()
    play_agent(folder).writer.close()
    assert found(folder) == {RUN: (None, []), AGENT: (False, [])}


def test_nor_is_a_kill_between_agent_end_and_job_end_while_the_run_has_not_ended(
    folder: TraceFolder, run: RunRecorder
) -> None:
    run.writer.close()
    play_agent(folder).end()
    assert found(folder)[AGENT] == (False, [])


def test_but_in_a_run_that_ended_it_is(folder: TraceFolder, run: RunRecorder) -> None:
    run.emit(JobStart(agent_id="lint-other", operation="lint", node_id=NODE))
    run.end()
    head = play_agent(folder).end()
    Recorder(folder, "lint-other").writer.close()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])
    assert found(folder)["lint-other"] == (False, [])


def test_a_retry_that_runs_after_run_end_is_not_a_fault_while_it_runs(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.end()
    retrying = RunRecorder.reopen(folder)
    retrying.job_start()
    head = play_agent(folder).end()
    assert found(folder)[AGENT] == (False, [])
    retrying.writer.close()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])


@pytest.mark.parametrize(("more", "digest"), [(0, "0" * 64), (2, "")], ids=["other", "short"])
def test_a_stream_that_is_another_or_ends_before_its_anchor(
    more: int, digest: str, folder: TraceFolder, run: RunRecorder
) -> None:
    head = play_agent(folder).end()
    run.job_end(Head(count=head.count + more, hash=digest or head.hash))
    run.end()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])


def test_a_stream_that_grew_behind_its_anchor(folder: TraceFolder, run: RunRecorder) -> None:
    agent = play_agent(folder)
    run.job_end(agent.writer.head)
    run.end()
    before = agent.writer.head.count
    agent.end()
    assert found(folder)[AGENT] == (False, [(before + 1, "anchor")])


def test_a_job_that_was_started_again_may_grow_until_it_ends_again(
    folder: TraceFolder, run: RunRecorder
) -> None:
    agent = play_agent(folder)
    run.job_end(agent.writer.head)
    run.job_start()
    head = agent.end()
    assert found(folder)[AGENT] == (False, [])
    run.job_end(head)
    assert found(folder)[AGENT] == (True, [])


def test_a_review_anchors_too(folder: TraceFolder) -> None:
    _, agent = play_run(folder)
    reopened = RunRecorder.reopen(folder)
    reopened.emit(Review(verdict="accepted", agent_id=AGENT, head=agent.writer.head))
    assert found(folder)[AGENT] == (True, [])
    reopened.emit(Review(verdict="accepted", agent_id=AGENT, head=Head(count=2, hash="0" * 64)))
    assert found(folder)[AGENT] == (True, [(2, "anchor")])


def test_an_agent_whose_stream_went_is_named_on_its_job_end(folder: TraceFolder) -> None:
    run, _ = play_run(folder)
    folder.agent_stream(AGENT).unlink()
    missed = {RUN: (None, [(run.writer.head.count - 1, "anchor")])}
    assert found(folder) == missed
    RunRecorder.reopen(folder).job_start()
    assert found(folder) == missed


@pytest.mark.parametrize("run_is_there", [False, True])
def test_an_orphan_that_ended_is_a_fault_and_one_that_did_not_is_none(
    run_is_there: bool, folder: TraceFolder
) -> None:
    if run_is_there:
        RunRecorder(folder).writer.close()
    head = play_agent(folder).end()
    Recorder(folder, "unrun").writer.close()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])
    assert found(folder)["unrun"] == (False, [])


class TestOne:
    def test_an_agent_or_a_run_can_be_named(self, folder: TraceFolder) -> None:
        play_run(folder)
        assert [report.name for report in verify_all(folder, AGENT).streams] == [AGENT]
        assert [report.name for report in verify_all(folder, RUN).streams] == [RUN]

    @pytest.mark.parametrize("name", ["nobody", "../runs/run-1", ""])
    def test_an_unknown_one_is_not_found(self, name: str, folder: TraceFolder) -> None:
        play_run(folder)
        with pytest.raises(NotFound):
            verify_all(folder, name)

    def test_a_link_for_the_whole_folder_is_refused(self, folder: TraceFolder) -> None:
        moved = folder.path.rename(folder.root / "moved")
        folder.path.symlink_to(moved)
        with pytest.raises(DiskError, match="link"):
            verify_all(folder)


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


def problems_of(folder: TraceFolder, name: str = FORK) -> list[tuple[int, str]]:
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
        assert problems_of(folder) == [(1, "anchor")]

    def test_a_parent_that_was_cut_is_a_fault_and_one_that_expired_is_not(
        self, folder: TraceFolder
    ) -> None:
        _, agent = play_run(folder)
        fork(folder, parent=parent(folder, 8))
        kept = list(read_lines(agent.writer.path))[:8]
        agent.writer.path.write_bytes(b"".join(line + b"\n" for line in kept))
        assert problems_of(folder) == [(1, "anchor")]
        agent.writer.path.unlink()
        assert problems_of(folder) == []

    def test_a_parent_of_which_nothing_was_written(self, folder: TraceFolder) -> None:
        play_run(folder)
        fork(folder, parent=parent(folder, 0) | {"seq": -1, "hash": "0" * 64})
        assert problems_of(folder) == []

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
        assert set(problems_of(folder)) == {(1, "schema")}


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
        assert problems_of(folder) == [] if stored else [(1, "blob")] * 3


class TestResumed:
    def test_an_agent_that_began_twice_and_decided_a_turn_twice(
        self, folder: TraceFolder, run: RunRecorder
    ) -> None:
        """Killed after its decision, it is resumed and decides the turn again."""
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
        self, folder: TraceFolder, run: RunRecorder
    ) -> None:
        agent = play_agent(folder)
        agent.writer.close()
        run.job_end(agent.writer.head)
        run.emit(JobStart(agent_id=FORK, operation="lint", node_id=NODE, attempt=2))
        fork(folder, parent=parent(folder, agent.writer.head.count - 1))
        run.end()
        report = {one.name: (one.ok, one.anchored) for one in verify_all(folder).streams}
        assert report == {RUN: (True, None), AGENT: (True, True), FORK: (True, False)}

    def test_a_job_that_ended_before_its_agent_wrote_anything(
        self, folder: TraceFolder, run: RunRecorder
    ) -> None:
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
