"""The stream of a run, which records its plan, verdicts, and the start and end of each job."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from remora.memory.events import Event, Head, Payload
from remora.runs.project import Project
from remora.runs.provenance import remember_head
from remora.runs.records.run_record import RunRecord, read_own_record
from remora.trace.content.group_commit import GroupCommit
from remora.trace.read.reader import decode_part, read_events
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.line_builder import Clock, Identity, utc_now
from remora.trace.verify.head_hmac import Signer, signer_for, with_signature


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
        self._signer = _signer(project, emitter, record)
        self._commit = GroupCommit(self._keep)
        self._one_by_one = threading.Lock()

    def append(self, payload: Payload) -> Event:
        """Append an event, sync the stream and store its head.

        In a signed run, job ends, reviews and the end of the run are signed. Raises DiskError if
        the head cannot be stored, and whatever `JsonlEventEmitter.emit` raises.
        """
        (event,) = self.append_all([payload])
        return event

    def append_all(self, payloads: Sequence[Payload]) -> list[Event]:
        """Append several events with one sync. Raises whatever `append` raises."""
        events = []
        with self._one_by_one:  # the signature covers the previous head
            for each in payloads:
                payload = with_signature(each, self._signer, self.run_id, self._emitter.head)
                events.append(self._emitter.emit(payload, turn=0))
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
    is writing, ConfigError if the run's signing key is missing, and whatever `read_own_record`
    raises when a record is read again.
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
        if isinstance(run, RunRecord) and not (run.verified and run.head == emitter.head):
            record = read_own_record(project, run_id, trusted=run.trusted)
        if record.is_written:
            record = msgspec.structs.replace(record, is_written=False)
        yield RunStream(project, emitter, record)
    finally:
        emitter.close()


class _RecordedSigning(msgspec.Struct):
    signing: dict[str, str] | None = None


def _signer(project: Project, emitter: JsonlEventEmitter, record: RunRecord) -> Signer | None:
    """Return the user's signer for a new run, or the recorded signer for a resumed run."""
    if not emitter.head.count:
        return project.signer
    first = next(iter(record.events or read_events(project.trace.existing_run(record.run_id))))
    return signer_for(decode_part(first, _RecordedSigning).signing, project.signer)
