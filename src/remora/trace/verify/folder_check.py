"""Verification of all streams in a trace folder, including the heads that run streams anchor."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import Head, decode_event
from remora.trace.content.line_format import iter_lines
from remora.trace.read.reader import last_event, open_stream
from remora.trace.removal import read_expired
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.trace.verify.anchor_check import RunAnchors
from remora.trace.verify.content_check import ContentStores
from remora.trace.verify.stream_check import VerifyTarget, verify_stream
from remora.trace.verify.verify_report import Problem, StreamReport, VerifyReport


def verify_all(folder: TraceFolder, agent: str | Path | None = None) -> VerifyReport:
    """Verify all streams, or only the stream of one agent or run. Nothing is written.

    `agent` is an ID, or the path of an agent's stream, which may be outside the folder. Raises
    NotFound if the ID is unknown, and DiskError if `.agentfs` is a link.
    """
    folder.check()
    check = _FolderCheck(folder)
    if isinstance(agent, Path):
        return VerifyReport(streams=(check.file(agent),))
    folder.recopy(agent)
    if agent is None:
        return VerifyReport(streams=tuple(check.verify()))
    run = folder.find_run(agent)
    if run is not None and folder.find_agent(agent) is None:
        return VerifyReport(streams=(check.run(run),))
    return VerifyReport(streams=(check.agent(folder.existing_agent(agent)),))


class _FolderCheck:
    """Verifies the streams in one folder. Each run's stream is read only once."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder
        self._stores = ContentStores(folder)
        self._expired = _expired(folder)
        self._runs: dict[str, _RunRead] = {}

    def verify(self) -> list[StreamReport]:
        # list agents before reading their runs: each listed agent is then in its run's stream
        agents = list(self._folder.agent_streams())
        runs = [self.run(path) for path in self._folder.run_streams()]
        return [*runs, *map(self.agent, agents), *map(_invalid, self._folder.invalid_names())]

    def run(self, path: Path) -> StreamReport:
        read = self._read_run(path)
        lost = [
            Problem(lines[0], "anchor", f"the stream of agent {agent_id[:80]!r} is missing")
            for agent_id, known in read.anchors.anchors.items()
            if (lines := [anchor.line for anchor in known if anchor.head.count])
            and self._folder.find_agent(agent_id) is None
            and ("agent", agent_id) not in self._expired
        ]
        found = [*self._copy_problems(path), *read.report.problems, *lost]
        problems = sorted(found, key=lambda problem: problem.line)
        return msgspec.structs.replace(read.report, problems=tuple(problems))

    def agent(self, path: Path) -> StreamReport:
        run_id = _run_id(path) or self._run_that_names(stream_id(path))
        report = self._agent(path, run_id)
        if any(problem.kind == "anchor" for problem in report.problems) and self._has_grown(run_id):
            report = self._agent(path, run_id)  # the run was appended to after it was read
        problems = (*self._copy_problems(path), *report.problems)
        return msgspec.structs.replace(report, problems=problems)

    def file(self, path: Path) -> StreamReport:
        run_id = _run_id(path)
        return self._agent(path, run_id if self._run_path(run_id) else None)

    def _copy_problems(self, path: Path) -> Iterator[Problem]:
        if detail := self._folder.copy_problem(path):
            yield Problem(1, "copy", detail)

    def _agent(self, path: Path, run_id: str | None) -> StreamReport:
        run = self._run_path(run_id)
        removed = run is None and ("run", run_id) in self._expired
        return verify_stream(
            VerifyTarget(
                path=path,
                stores=self._stores,
                run=None if run is None else self._read_run(run).anchors,
                anchored=run_id is not None and not removed,
            )
        )

    def _run_path(self, run_id: str | None) -> Path | None:
        return None if run_id is None else self._folder.find_run(run_id)

    def _run_that_names(self, agent_id: str) -> str | None:
        """Return the ID of the run whose stream mentions an agent.

        This is used if the agent's stream has no readable run ID.
        """
        for path in self._folder.run_streams():
            anchors = self._read_run(path).anchors
            if agent_id in anchors.started or agent_id in anchors.anchors:
                return stream_id(path)
        return None

    def _read_run(self, path: Path) -> "_RunRead":
        if path.name not in self._runs:
            size, anchors = _size(path), RunAnchors()
            target = VerifyTarget(path=path, stores=self._stores, anchors=anchors)
            self._runs[path.name] = _RunRead(size, anchors, verify_stream(target))
        return self._runs[path.name]

    def _has_grown(self, run_id: str | None) -> bool:
        path = self._run_path(run_id)
        before = None if path is None else self._runs.get(path.name)
        if path is None or before is None or before.size == _size(path):
            return False
        del self._runs[path.name]
        return True


class _RunRead(NamedTuple):
    """Result of verifying a run's stream."""

    size: int
    """The file size at that time."""
    anchors: RunAnchors
    report: StreamReport


def _invalid(name: str) -> StreamReport:
    detail = "a stream cannot have this name; someone has written the row to the database"
    of_run = name.startswith("runs/")
    return StreamReport(
        name=name,
        of_run=of_run,
        head=Head(),
        anchored=None if of_run else False,
        problems=(Problem(1, "copy", detail),),
    )


def _expired(folder: TraceFolder) -> set[tuple[str, str]]:
    """Return the kinds and IDs of removed streams. Entries after the first damaged line of the log
    are ignored.
    """
    found = set[tuple[str, str]]()
    for name in folder.pruned_streams():
        kind, _, pruned = name.partition("/")
        found.add(("run" if kind == "runs" else "agent", pruned))
    with suppress(StreamDamaged, DiskError):
        found.update((stream.kind, stream.id) for stream in read_expired(folder))
    return found


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def _run_id(path: Path) -> str | None:
    """Return the run ID from a stream's first event.

    If the first line is not an event, return the run ID from the last event. Returns None if
    neither can be read.
    """
    with suppress(DiskError, NotFound, StreamDamaged):
        with open_stream(path) as source:
            first = next(iter_lines(source), None)
        if first is not None and first.ended:
            try:
                return decode_event(first.raw).run_id
            except (ValueError, RecursionError):
                last = last_event(path)
                return None if last is None else last.run_id
    return None
