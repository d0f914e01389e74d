"""Anchors in a run's stream, compared with its agents' streams."""

import pytest

from remora.errors import DiskError, NotFound
from remora.memory.events import Head, JobStart, Review
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import AGENT, NODE, RUN, Recorder, RunRecorder, play_agent, play_run

Found = dict[str, tuple[bool | None, list[tuple[int, str]]]]


def found(folder: TraceFolder) -> Found:
    return {
        report.name: (report.anchored, [(p.line, p.kind) for p in report.problems])
        for report in verify_all(folder).streams
    }


def test_a_job_that_ended_is_anchored(folder: TraceFolder) -> None:
    play_run(folder)
    assert found(folder) == {RUN: (None, []), AGENT: (True, [])}


def test_an_interrupted_run_is_not_a_fault(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    run.writer.close()
    play_agent(folder).writer.close()
    assert found(folder) == {RUN: (None, []), AGENT: (False, [])}


def test_nor_is_a_kill_between_agent_end_and_job_end_while_the_run_has_not_ended(
    folder: TraceFolder,
) -> None:
    run = RunRecorder(folder)
    run.job_start()
    run.writer.close()
    play_agent(folder).end()
    assert found(folder)[AGENT] == (False, [])


def test_but_in_a_run_that_ended_it_is(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
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


def test_a_head_that_is_not_the_streams(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    head = play_agent(folder).end()
    run.job_end(Head(count=head.count, hash="0" * 64))
    run.end()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])


def test_a_stream_that_ends_before_its_anchor(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    head = play_agent(folder).end()
    run.job_end(Head(count=head.count + 2, hash=head.hash))
    run.end()
    assert found(folder)[AGENT] == (False, [(head.count, "anchor")])


def test_a_stream_that_grew_behind_its_anchor(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    agent = play_agent(folder)
    run.job_end(agent.writer.head)
    run.end()
    before = agent.writer.head.count
    agent.end()
    assert found(folder)[AGENT] == (False, [(before + 1, "anchor")])


def test_a_job_that_was_started_again_may_grow_until_it_ends_again(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
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
    assert found(folder) == {RUN: (None, [(run.writer.head.count - 1, "anchor")])}


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
