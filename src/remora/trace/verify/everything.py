"""All streams of a folder, each agent's against its run's."""

from pathlib import Path

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.ids import is_id
from remora.memory.events import decode_event
from remora.trace.folder import TraceFolder, stream_id
from remora.trace.lines import lines
from remora.trace.reader import last_event, opened
from remora.trace.verify.anchors import RunAnchors
from remora.trace.verify.references import Stores
from remora.trace.verify.report import Problem, Report, StreamReport
from remora.trace.verify.stream import Target, verify_stream


def verify_all(folder: TraceFolder, agent: str | None = None) -> Report:
    """Verify every stream, or only one agent's (or run's) of that id.

    Only reads. Raises NotFound for an unknown id and DiskError where `.agentfs` is a link;
    whatever lies in the folder is a problem in the report.
    """
    folder.check()
    everything = _Everything(folder)
    if agent is None:
        return everything.verify()
    if not is_id(agent) or not folder.agent_stream(agent).exists():
        if is_id(agent) and folder.run_stream(agent).exists():
            return Report(streams=(everything.run(folder.run_stream(agent)),))
        folder.existing_agent(agent)  # raises NotFound, unless it is a broken link
    return Report(streams=(everything.agent(folder.agent_stream(agent)),))


class _Everything:
    """The streams of one folder; what runs say of their agents is read once."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder
        self._stores = Stores(folder.blobs, folder.objects)
        self._runs: dict[str, tuple[int, RunAnchors, StreamReport]] = {}

    def verify(self) -> Report:
        # agents are listed before their runs are read: a run knows every agent listed earlier
        agents = list(self._folder.agent_streams())
        runs = [self.run(path) for path in self._folder.run_streams()]
        return Report(streams=(*runs, *map(self.agent, agents)))

    def run(self, path: Path) -> StreamReport:
        _, anchors, report = self._read_run(path)
        lost = [
            Problem(anchor.line, "anchor", f"the stream of agent {agent_id[:80]!r} is missing")
            for agent_id, known in anchors.anchors.items()
            for anchor in known
            if anchor.ends_job and not self._is_there(agent_id)
        ]
        problems = sorted([*report.problems, *lost], key=lambda problem: problem.line)
        return msgspec.structs.replace(report, problems=tuple(problems))

    def agent(self, path: Path) -> StreamReport:
        run_id = _run_id(path) or self._run_that_names(stream_id(path))
        report = self._agent(path, run_id)
        if any(problem.kind == "anchor" for problem in report.problems) and self._grown(run_id):
            report = self._agent(path, run_id)  # the run wrote on after it was read
        return report

    def _agent(self, path: Path, run_id: str | None) -> StreamReport:
        run = None
        if run_id is not None and is_id(run_id) and self._folder.run_stream(run_id).exists():
            run = self._read_run(self._folder.run_stream(run_id))[1]
        return verify_stream(
            Target(path=path, stores=self._stores, run=run, anchored=run_id is not None)
        )

    def _run_that_names(self, agent_id: str) -> str | None:
        """The run of a stream that no longer says whose it is."""
        for path in self._folder.run_streams():
            anchors = self._read_run(path)[1]
            if agent_id in anchors.started or agent_id in anchors.anchors:
                return stream_id(path)
        return None

    def _read_run(self, path: Path) -> tuple[int, RunAnchors, StreamReport]:
        if path.name not in self._runs:
            size, anchors = _size(path), RunAnchors()
            report = verify_stream(
                Target(path=path, of_run=True, stores=self._stores, anchors=anchors)
            )
            self._runs[path.name] = size, anchors, report
        return self._runs[path.name]

    def _grown(self, run_id: str | None) -> bool:
        if run_id is None or not is_id(run_id):
            return False
        path = self._folder.run_stream(run_id)
        before = self._runs.get(path.name)
        if before is None or before[0] == _size(path):
            return False
        del self._runs[path.name]
        return True

    def _is_there(self, agent_id: str) -> bool:
        return is_id(agent_id) and self._folder.agent_stream(agent_id).exists()


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def _run_id(path: Path) -> str | None:
    """The run that a stream says it is of, None where no event can be read at either end."""
    try:
        with opened(path) as source:
            first = next(lines(source), None)
        if first is not None and first.ended:
            return decode_event(first.raw).run_id
    except (DiskError, NotFound):
        return None
    except (ValueError, RecursionError):
        return _last_run_id(path)
    return None


def _last_run_id(path: Path) -> str | None:
    try:
        last = last_event(path)
    except (DiskError, NotFound, StreamDamaged):
        return None
    return None if last is None else last.run_id
