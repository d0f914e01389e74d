"""The stream of a run, which records its plan, verdicts, and the start and end of each job."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from remora.errors import NotFound
from remora.memory.events import Event, Head, Payload
from remora.runs.project import Project
from remora.runs.provenance import remember_head
from remora.runs.records.run_record import RunRecord, read_own_record
from remora.trace.content.group_commit import GroupCommit
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.line_builder import Clock, Identity, utc_now


class RunStream:
    """Appends events to a run's stream. Each append syncs the stream and stores its head.

    Thread-safe. Concurrent appends may share one sync and one stored head.
    """

    def __init__(self, project: Project, emitter: JsonlEventEmitter, record: RunRecord) -> None:
        """Open the stream of `record` for appending.

        Appended events are added to the record only if the record is verified.
        """
        self._project = project
        self.run_id = record.run_id
        self._emitter = emitter
        self._record = record
        self._appended: list[Event] = []
        self._commit = GroupCommit(self._keep)
        self._append_lock = threading.Lock()

    def append(self, payload: Payload) -> Event:
        """Append an event, sync the stream and store its head.

        Raises DiskError if the head cannot be stored, and whatever `JsonlEventEmitter.emit`
        raises.
        """
        (event,) = self.append_all([payload])
        return event

    def append_all(self, payloads: Sequence[Payload]) -> list[Event]:
        """Append several events with one sync. Raises whatever `append` raises."""
        with self._append_lock:  # events of other threads come before or after all of these
            events = [self._emitter.emit(payload, turn=0) for payload in payloads]
            if self._record.verified:
                self._appended.extend(events)
        if events:
            self._commit.run()
        return events

    def _keep(self) -> None:
        head = self._emitter.head
        self._emitter.sync()
        remember_head(self._project.state, self.run_id, head)

    @property
    def appended(self) -> Sequence[Event]:
        """The events that this process has appended, if the record is verified."""
        return self._appended

    @property
    def record(self) -> RunRecord:
        """The run's record, including the events that have been appended."""
        if not self._appended:
            return self._record
        events = (*self._record.events, *self._appended)
        return msgspec.structs.replace(self._record, events=events)

    @property
    def head(self) -> Head:
        return self._emitter.head


@contextmanager
def open_run(project: Project, run: str | RunRecord, clock: Clock = utc_now) -> Iterator[RunStream]:
    """Open a run's stream with this process as its only writer.

    A record that is unverified or out of date is read again. Raises StreamLocked if another process
    is writing, NotFound if a record's run was removed, and whatever `read_own_record` raises when a
    record is read again.
    """
    record = run if isinstance(run, RunRecord) else RunRecord(run_id=run, events=())
    run_id = record.run_id
    identity = Identity(run_id=run_id, agent_id="", operation="", node_id="")
    emitter = JsonlEventEmitter.claim(
        project.open_store(),
        f"runs/{run_id}",
        identity,
        EmitterOptions(blobs=project.trace.blobs, objects=project.trace.objects, clock=clock),
    )
    try:
        if isinstance(run, RunRecord) and not emitter.head.count:
            # `claim` has created the stream of a run that `clean` removed
            project.trace.run_stream(run_id).unlink(missing_ok=True)
            raise NotFound(f"the run {run_id} was removed a moment ago")
        # the record may be older than the stream, which is locked only now
        if isinstance(run, RunRecord) and not (run.verified and run.head == emitter.head):
            record = read_own_record(project, run_id, trusted=run.trusted)
        if record.is_written:
            record = msgspec.structs.replace(record, is_written=False)
        yield RunStream(project, emitter, record)
    finally:
        emitter.close()
