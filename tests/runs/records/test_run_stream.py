"""A run's own stream, to which jobs append at once."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from remora.errors import DiskError, StreamLocked
from remora.memory.events import Event, Head, JobStart
from remora.runs.project import Project
from remora.runs.records.run_stream import RunStream, open_run
from remora.trace.read.reader import read_events
from remora.trace.read.verified_reader import verified_head
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.trace_folder import TraceFolder

RUN = "run-1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """As much of a project as a run's stream needs."""
    trace = TraceFolder(tmp_path)
    trace.create()
    parts = {"trace": trace, "open_store": lambda: JsonlTraceStore(trace.path)}
    return cast(Project, SimpleNamespace(**parts, state=tmp_path / "state"))


@pytest.fixture
def stream(project: Project) -> Iterator[RunStream]:
    with open_run(project, RUN) as opened:
        yield opened


def job(number: int) -> JobStart:
    return JobStart(agent_id=f"lint-{number}", operation="lint", node_id="node:a.py:f")


def remembered(project: Project) -> Head:
    text = (project.state / "heads" / f"{RUN}.json").read_bytes()
    return msgspec.json.decode(text, type=Head)


def test_each_append_is_remembered_as_ours(project: Project, stream: RunStream) -> None:
    for number in range(3):
        event = stream.append(job(number))
        assert remembered(project) == stream.head == Head(count=number + 1, hash=event.hash)


def test_jobs_append_at_once_in_one_order(project: Project, stream: RunStream) -> None:
    def append(number: int) -> Event:
        event = stream.append(job(number))
        assert remembered(project).count > event.seq
        return event

    with ThreadPoolExecutor(8) as pool:
        appended = list(pool.map(append, range(80)))
    path = project.trace.run_stream(RUN)
    assert list(read_events(path)) == sorted(appended, key=lambda event: event.seq)
    assert verified_head(path) == remembered(project) == stream.head


def test_who_waits_for_the_disk_at_once_shares_one_sync(
    stream: RunStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = []

    def slow(file: int) -> None:
        syncs.append(file)
        time.sleep(0.01)

    monkeypatch.setattr("os.fdatasync", slow)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(stream.append, map(job, range(64))))
    assert 8 <= len(syncs) <= 32


def test_a_second_command_and_a_head_that_cannot_be_remembered_are_reported(
    project: Project, stream: RunStream
) -> None:
    with pytest.raises(StreamLocked, match="process"), open_run(project, RUN):
        pass
    project.state.write_text("no folder")
    with pytest.raises(DiskError):
        stream.append(job(1))
