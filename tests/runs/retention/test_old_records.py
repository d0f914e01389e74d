"""Compression and removal of real runs: what goes and what stays."""

import dataclasses
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from remora.config.schema import RetentionConfig
from remora.errors import NotFound, StreamLocked
from remora.memory.events import JobStart
from remora.runs.project import Project
from remora.runs.records.run_listing import list_run_lines
from remora.runs.records.run_record import read_own_record
from remora.runs.records.run_stream import open_run
from remora.runs.retention import old_records
from remora.runs.retention.inventory import DAMAGE, take_inventory
from remora.runs.retention.removable import remove_all
from remora.runs.retention.retention_rules import Limits, limits_of
from remora.trace.read.reader import list_streams, read_events
from remora.trace.read.verified_reader import verified_head
from remora.trace.removal import log_expired, read_expired, remove_stream
from remora.trace.stream.compression import compress_stream, open_for_writing
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import SHOP, UNUSED, Desk


@pytest.fixture
def reviewed(ran: Desk) -> Desk:
    """`SHOP` after a run of which everything was accepted."""
    accept(ran.newest, root=ran.project, every=True)
    return ran


def project_with(desk: Desk, **retention: Any) -> Project:
    config = desk.project.config
    memory = config.runner.memory
    made = config.model_copy(
        update={
            "runner": config.runner.model_copy(
                update={
                    "memory": memory.model_copy(update={"retention": RetentionConfig(**retention)})
                }
            )
        }
    )
    return dataclasses.replace(desk.project, config=made)


class Retained(NamedTuple):
    """What was removed and compressed."""

    runs: int = 0
    streams: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()


def retain(project: Project, limits: Limits, now: datetime) -> Retained:
    """Remove and compress what is due."""
    found = take_inventory(project.trace, now)
    done = remove_all(old_records.old_records(project, found, limits, now))
    kinds = [what.kind for what in done.removed]
    return Retained(kinds.count("run"), kinds.count("stream"), done.bytes, done.problems)


def retained(project: Project, days: float) -> Retained:
    """Apply the configured limits so many days from now."""
    return retain(project, limits_of(project.config.runner.memory.retention), after(days))


def after(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def files(desk: Desk) -> dict[str, bytes]:
    folder = desk.project.trace.path
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".gitignore"
    }


def names(desk: Desk, part: str) -> list[str]:
    return [Path(name).name for name in files(desk) if name.startswith(part)]


def aged(desk: Desk, days: float = 10) -> None:
    """All contents were put so many days ago."""
    then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for part in (desk.project.trace.blobs, desk.project.trace.objects):
        for path in part.folder.rglob("*"):
            if path.is_file():
                os.utime(path, (then, then))


@pytest.mark.slow
def test_a_young_run_is_left_alone(reviewed: Desk) -> None:
    before = files(reviewed)
    assert retained(reviewed.project, 1) == Retained()
    assert files(reviewed) == before


def test_a_project_without_records_has_nothing_to_compact(desk: Desk) -> None:
    assert retained(desk.project, 0) == Retained()


class TestCompression:
    def test_after_two_days_its_streams_are_compressed_and_read_as_before(
        self, reviewed: Desk
    ) -> None:
        run_id, trace = reviewed.newest, reviewed.project.trace
        heads = {path.name: verified_head(path) for path in trace.agent_streams()}
        events = [list(read_events(path)) for path in trace.agent_streams()]
        view, streams = reviewed.view(run_id), list_streams(trace)
        before = sum(map(len, files(reviewed).values()))
        done = retained(reviewed.project, 3)
        assert done == Retained(streams=4, bytes=before - sum(map(len, files(reviewed).values())))
        assert names(reviewed, "traces") == [f"{name}.zst" for name in sorted(heads)]
        assert names(reviewed, "runs") == [f"{run_id}.jsonl.zst"]
        assert [list(read_events(path)) for path in trace.agent_streams()] == events
        assert {
            path.name.removesuffix(".zst"): verified_head(path) for path in trace.agent_streams()
        } == heads
        assert reviewed.view(run_id) == view
        assert [msgspec.structs.replace(s, bytes=0) for s in list_streams(trace)] == [
            msgspec.structs.replace(s, bytes=0) for s in streams
        ]
        assert reviewed.problems() == []
        assert retained(reviewed.project, 3) == Retained()

    def test_a_compressed_run_can_still_be_reviewed(self, ran: Desk) -> None:
        run_id = ran.newest
        reject(run_id, root=ran.project, every=True)
        retained(ran.project, 3)
        with open_run(ran.project, run_id) as stream:
            stream.append(JobStart(agent_id="lint-x", operation="lint", node_id="node:a.py:f"))
        assert names(ran, "runs") == [f"{run_id}.jsonl"]
        assert len(ran.run_events(run_id)) == stream.head.count
        assert ran.problems() == []

    def test_a_half_compressed_run_is_compressed_to_its_end(self, reviewed: Desk) -> None:
        content = {path: path.read_bytes() for path in reviewed.project.trace.agent_streams()}
        retained(reviewed.project, 3)
        compressed = files(reviewed)
        for path, plain in content.items():
            path.write_bytes(plain)
        retained(reviewed.project, 3)
        assert files(reviewed) == compressed


class TestExpiring:
    @pytest.mark.slow
    def test_after_thirty_days_the_run_goes_and_what_it_named(self, reviewed: Desk) -> None:
        reviewed.commit()
        reviewed.write({"a.py": UNUSED})
        young = reviewed.analyze()
        # both runs may start in the same second, so their order is not known
        (old,) = {stream_id(p) for p in reviewed.project.trace.run_streams()} - {young}
        state = reviewed.project.state / "heads"
        streams = [s for s in list_streams(reviewed.project.trace) if s.run_id == old]
        anchors = {("agent", s.agent_id): s.events for s in streams}
        path = reviewed.project.trace.run_stream(old)
        anchors["run", old] = len(list(read_events(path)))
        accept(young, root=reviewed.project, every=True)
        aged(reviewed)
        first = reviewed.run_events(old)[-1].timestamp
        now = datetime.fromisoformat(first) + timedelta(days=30, microseconds=1)
        limits = limits_of(reviewed.project.config.runner.memory.retention)
        assert retain(reviewed.project, limits, now).runs == 1
        assert names(reviewed, "runs") == [f"{young}.jsonl.zst"]
        assert {s.run_id for s in list_streams(reviewed.project.trace)} == {young}
        assert [path.name for path in state.iterdir()] == [f"{young}.json"]
        logged = list(read_expired(reviewed.project.trace))
        assert {(e.kind, e.id): e.head.count for e in logged} == anchors
        assert {(e.run_id, e.reason) for e in logged} == {(old, "age")}
        assert reviewed.problems() == []

    @pytest.mark.slow
    def test_the_commit_is_let_go(self, desk: Desk) -> None:
        desk.write(SHOP)
        desk.commit()
        run_id = desk.analyze()
        reject(run_id, root=desk.project, every=True)
        assert desk.git("for-each-ref", "refs/remora")
        retained(desk.project, 31)
        assert desk.git("for-each-ref", "refs/remora") == ""

    def test_the_texts_of_its_pull_requests_go(self, reviewed: Desk) -> None:
        runs = reviewed.project.trace.runs
        (runs / f"{reviewed.newest}-0123abcd.md").touch()
        (runs / "20200101-000000-aaaaaa-0123abcd.md").touch()
        assert retained(reviewed.project, 31).runs == 1
        assert names(reviewed, "runs") == ["20200101-000000-aaaaaa-0123abcd.md"]

    def test_new_contents_are_not_collected(self, reviewed: Desk) -> None:
        stored = names(reviewed, "objects")
        aged(reviewed, days=0.9)
        assert retained(project_with(reviewed, keep_days=0), 0).runs == 1
        assert names(reviewed, "objects") == stored

    def test_a_backup_stays_if_the_clock_was_ahead_when_a_run_expired(self, reviewed: Desk) -> None:
        objects = reviewed.project.trace.objects
        backup = objects.get(names(reviewed, "objects")[0])
        assert retained(reviewed.project, 400).runs == 1
        digest = objects.put(backup)
        assert retained(reviewed.project, 29) == Retained()
        assert names(reviewed, "objects") == [digest]

    def test_no_writer_opens_a_sealed_run_that_goes(
        self, reviewed: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        retained(reviewed.project, 3)
        path = reviewed.project.trace.run_stream(reviewed.newest)

        def logged(*of: Any) -> None:
            with pytest.raises(StreamLocked):
                open_for_writing(path)
            assert names(reviewed, "runs") == [f"{path.name}.zst"]
            log_expired(*of)

        monkeypatch.setattr(old_records, "log_expired", logged)
        monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")  # such as on a full disk
        assert [run.status for run in list_run_lines(reviewed.project.trace)] == ["ended"]
        assert retained(reviewed.project, 31).runs == 1
        assert names(reviewed, "runs") == []

    def test_a_review_of_a_removed_run_does_not_create_its_stream(self, reviewed: Desk) -> None:
        record = read_own_record(reviewed.project, reviewed.newest)
        assert retained(reviewed.project, 31).runs == 1
        with pytest.raises(NotFound), open_run(reviewed.project, record):
            pass
        assert names(reviewed, "runs") == []

    @pytest.mark.parametrize("meanwhile", [compress_stream, remove_stream])
    def test_another_command_may_compress_or_remove_a_run_while_it_is_listed(
        self, reviewed: Desk, meanwhile: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def find_agent(folder: TraceFolder, agent_id: str) -> Path | None:
            meanwhile(path := folder.agent_stream(agent_id))
            return path if meanwhile is compress_stream else found(folder, agent_id)

        found = TraceFolder.find_agent
        monkeypatch.setattr(TraceFolder, "find_agent", find_agent)
        (run,) = take_inventory(reviewed.project.trace, after(0)).runs
        assert not run.hands_off
        assert all(path.exists() for path in run.streams)

    @pytest.mark.parametrize("days", [1, 3])
    def test_a_run_that_was_written_since_it_was_listed_stays(
        self, reviewed: Desk, days: int
    ) -> None:
        project, run_id = reviewed.project, reviewed.newest
        retained(project, days)
        limits = limits_of(project.config.runner.memory.retention)
        acts = old_records.old_records(
            project, take_inventory(project.trace, after(0)), limits, after(31)
        )
        with open_run(project, run_id) as stream:
            stream.append(JobStart(agent_id="lint-x", operation="lint", node_id="node:a.py:f"))
        (problem,) = remove_all(acts).problems
        assert problem == f"{run_id}: its stream was modified a moment ago"
        assert names(reviewed, "runs") == [f"{run_id}.jsonl"]

    def test_a_killed_removal_of_a_run_without_jobs_is_completed(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.write({"a.py": "x = 1\n"})
        desk.analyze()

        def refused(_: Path) -> None:
            raise PermissionError(13, "Permission denied")

        with monkeypatch.context() as patch:
            patch.setattr(old_records, "remove_stream", refused)
            assert retained(desk.project, 31).runs == 0
        assert retained(project_with(desk, keep_days=None), 31).runs == 1


class TestNeverTouched:
    def kept(self, desk: Desk) -> str:
        before = files(desk)
        for policy in ({"keep_days": None}, {}):
            assert retained(project_with(desk, **policy), 400) == Retained()
            assert files(desk) == before
        (run,) = take_inventory(desk.project.trace, after(0)).runs
        return run.hands_off

    def test_a_change_set_that_waits(self, ran: Desk) -> None:
        assert self.kept(ran).startswith("3 changes pending review")

    def test_a_live_writer(self, reviewed: Desk) -> None:
        with open_run(reviewed.project, reviewed.newest):
            assert self.kept(reviewed) == "it is still running"

    def test_an_interrupted_run(self, ran: Desk) -> None:
        path = ran.project.trace.run_stream(ran.newest)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        assert self.kept(ran).startswith(
            "it was interrupted; resume it with `remora analyze --resume"
        )

    def test_an_agent_that_began_and_has_not_ended(self, reviewed: Desk) -> None:
        with open_run(reviewed.project, reviewed.newest) as stream:
            stream.append(JobStart(agent_id="lint-fork", operation="lint", node_id="node:b.py:g"))
        assert self.kept(reviewed).startswith("it was interrupted")


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"trim":0', b'"trim":1'))


def cut(path: Path) -> None:
    """At the end of a line."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


emptied, replaced = (partial(Path.write_bytes, data=data) for data in (b"", b"x\n"))


@pytest.mark.parametrize(
    "damage",
    [changed, Path.unlink]
    + [pytest.param(rest, marks=pytest.mark.slow) for rest in (torn, cut, emptied, replaced)],
)
def test_a_damaged_stream_is_evidence_and_stays(
    reviewed: Desk, damage: Callable[[Path], None]
) -> None:
    damage(next(reviewed.project.trace.agent_streams()))
    agents = [path.read_bytes() for path in reviewed.project.trace.agent_streams()]
    assert retained(project_with(reviewed, compress_after_days=None), 400).runs == 0
    *others, run = take_inventory(reviewed.project.trace, after(0)).runs
    assert all(other.run_id for other in others)
    said = run.hands_off or retained(reviewed.project, 400).problems[0]
    assert DAMAGE in said or "differs" in said or "match" in said
    assert [path.read_bytes() for path in reviewed.project.trace.agent_streams()] == agents
    assert not list(read_expired(reviewed.project.trace))
