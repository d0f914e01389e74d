"""A run's own stream: what was planned, when jobs began and ended, what people said."""

from collections.abc import Iterator
from contextlib import contextmanager

from remora.memory.events import Event, Head, Payload
from remora.runs.project import Project
from remora.runs.trust import remember_head
from remora.trace import Clock, Identity, StreamWriter, utc_now
from remora.trace.group_commit import GroupCommit


class RunStream:
    """Appends to a run's stream, each event synced, and remembers the head as ours.

    Jobs in several threads may append at once: in one order, and who waits for the disk at the
    same time shares one sync and one remembered head.
    """

    def __init__(self, project: Project, run_id: str, writer: StreamWriter) -> None:
        self._project = project
        self.run_id = run_id
        self._writer = writer
        self._commit = GroupCommit(self._keep)

    def append(self, payload: Payload) -> Event:
        """Append, sync, remember. Raises as StreamWriter does, and DiskError for the head."""
        event = self._writer.append(payload, turn=0)
        self._commit.run()
        return event

    def _keep(self) -> None:
        head = self._writer.head
        self._writer.sync()
        remember_head(self._project.state, self.run_id, head)

    @property
    def head(self) -> Head:
        """The stream's head."""
        return self._writer.head


@contextmanager
def opened_run(project: Project, run_id: str, clock: Clock = utc_now) -> Iterator[RunStream]:
    """The run's stream with this process as its only writer. Raises StreamLocked otherwise."""
    identity = Identity(run_id=run_id, agent_id="", operation="", node_id="")
    writer = StreamWriter.open(
        project.trace.run_stream(run_id),
        identity,
        blobs=project.trace.blobs,
        objects=project.trace.objects,
        clock=clock,
    )
    try:
        yield RunStream(project, run_id, writer)
    finally:
        writer.close()
