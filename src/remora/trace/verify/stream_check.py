"""Verification of a single stream. All checks are done in one pass."""

import re
from pathlib import Path
from typing import Any

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import (
    PAYLOADS,
    AgentEnd,
    AgentStart,
    Event,
    Head,
    Payload,
    Recovered,
    RunStart,
)
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import MAX_STRANGE_LINES, Line, is_torn, iter_lines
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import payload_without_values
from remora.trace.read.reader import open_stream
from remora.trace.stream_lock import is_locked
from remora.trace.trace_folder import stream_id
from remora.trace.verify.anchor_check import RunAnchors, check_anchors
from remora.trace.verify.chain_check import ChainCheck
from remora.trace.verify.content_check import ContentStores, check_references
from remora.trace.verify.fork_origin_check import check_origin
from remora.trace.verify.projection_check import ProjectionCheck
from remora.trace.verify.verify_report import Kind, Problems, StreamReport


class VerifyTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A stream to verify, and the data to compare it with."""

    path: Path
    stores: ContentStores
    anchors: RunAnchors | None = None
    """Where the anchors found are added, if it is a run's stream."""
    run: RunAnchors | None = None
    """The anchors from the run, if it is an agent's stream."""
    anchored: bool = False
    """True if the anchors from the run are compared."""

    @property
    def of_run(self) -> bool:
        """True if it is a run's stream."""
        return self.anchors is not None


def verify_stream(target: VerifyTarget) -> StreamReport:
    """Return a report of all problems in a stream. Never raises, even if the file is invalid."""
    name = stream_id(target.path)
    found = Problems()
    try:
        with open_stream(target.path) as source:
            reading = _Pass(target, name, source, found)
            reading.run()
            head, anchored = reading.chain.head, reading.anchored()
    except (DiskError, NotFound, StreamDamaged, OSError) as error:
        kind: Kind = "chain" if isinstance(error, StreamDamaged) else "schema"
        found.add(1, kind, f"cannot be read: {error}")
        head, anchored = Head(), None if target.of_run else False
    return StreamReport(
        name=name.encode("utf-8", "backslashreplace").decode(),
        of_run=target.of_run,
        head=head,
        anchored=anchored,
        problems=found.all(),
    )


class _Pass:
    """A single pass over a stream, which applies all checks to each line."""

    def __init__(
        self, target: VerifyTarget, name: str, source: ByteSource, found: Problems
    ) -> None:
        self._target = target
        self._name = name
        self._source = source
        self._found = found
        self.chain = ChainCheck(found)
        self._schema = SchemaCheck(
            name, of_run=target.of_run, blobs=target.stores.folder.blobs, found=found
        )
        self._projection = ProjectionCheck(found)
        anchors = target.run.anchors.get(name, []) if target.run else []
        self._anchored_counts = {anchor.head.count for anchor in anchors}
        self._hashes: dict[int, str] = {}
        self._end_line: int | None = None
        self._strange = 0

    def run(self) -> None:
        previous: Line | None = None
        try:
            for line in iter_lines(self._source):
                if previous is not None:
                    self._see(previous)
                previous = line
            if previous is not None:
                self._see_last(previous)
        except StreamDamaged as error:  # the compressed file is damaged
            self._found.add(self.chain.count + 1, "chain", error.message)
            self.chain.sound = False
        if self._target.anchors is not None:
            self._target.anchors.live = is_locked(self._target.path)

    def anchored(self) -> bool | None:
        if self._target.of_run:
            return None
        if not self._target.anchored:
            return False
        run, found = self._target.run, self._found
        agrees = check_anchors(
            self._name, run, self.chain.head, self._hashes, self._end_line, found
        )
        return agrees and self.chain.sound

    def _see_last(self, line: Line) -> None:
        if not is_torn(line):
            self._see(line)
            return
        end = line.offset + line.size
        if line.ended or not (is_locked(self._target.path) or self._source.size() != end):
            detail = (
                f"the last {line.size} bytes are not a complete line: a write was interrupted, or "
                "the file was changed"
            )
            self._found.add(line.number, "torn_tail", detail)

    def _see(self, line: Line) -> None:
        event = self.chain.see(line)
        self._strange = 0 if event is not None else self._strange + 1
        if self._strange >= MAX_STRANGE_LINES:
            raise StreamDamaged(
                f"{MAX_STRANGE_LINES} lines in a row are no events; the rest was not read"
            )
        if line.number in self._anchored_counts:
            self._hashes[line.number] = self.chain.hash
        if event is None or not self.chain.trusted:
            self._schema.skip(line.number, event)
            return
        payload = self._schema.see(line.number, event)
        if isinstance(payload, AgentEnd):
            self._end_line = line.number
        check_references(line.number, event, payload, self._target.stores, self._found)
        if self._target.anchors is not None:
            self._target.anchors.see(line.number, payload)
            return
        check_origin(line.number, event, self._target.stores, self._found)
        if self.chain.sound:  # after a damaged line the fold would only report that damage again
            self._projection.see(line.number, event, payload)


_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_RUN_TYPES = frozenset(
    {"run_start", "job_start", "job_end", "review", "gates", "run_end", "recovered"}
)
_AGENT_TYPES = frozenset(PAYLOADS) - _RUN_TYPES | {"recovered"}


class SchemaCheck:
    """Checks events in order. Returns each typed payload for use by the other checks."""

    def __init__(self, name: str, *, of_run: bool, blobs: ObjectStore, found: Problems) -> None:
        self._name = name
        self._of_run = of_run
        self._blobs = blobs
        self._found = found
        self._seq: int | None = 0
        self._identity: tuple[str, ...] | None = None
        self._started = False
        self._ended = False

    def skip(self, line: int, event: Event | None) -> None:
        """Skip a changed line. The sequence number of the next event is then not checked."""
        if event is not None:
            self._check_seq(line, event)
        self._seq = None
        self._started = True

    def see(self, line: int, event: Event) -> Payload | None:
        """Check an event and return its payload, or None if the type is unknown or the data is
        unreadable.
        """
        self._check_seq(line, event)
        self._seq = event.seq + 1
        checks = self._envelope_problem, self._identity_problem, self._position_problem
        for detail in filter(None, [check(event) for check in checks]):
            self._found.add(line, "schema", detail)
        return self._payload(line, event)

    def _check_seq(self, line: int, event: Event) -> None:
        if self._seq is not None and event.seq != self._seq:
            self._found.add(line, "seq", f"seq is {event.seq}, expected {self._seq}")

    def _envelope_problem(self, event: Event) -> str | None:
        if _TIMESTAMP.fullmatch(event.timestamp) is None:
            return f"timestamp {event.timestamp[:40]!r} is not RFC 3339 in UTC with microseconds"
        if event.turn < 0 or (self._of_run and event.turn):
            return f"invalid turn {event.turn}"
        return None

    def _identity_problem(self, event: Event) -> str | None:
        identity = (event.run_id, event.agent_id, event.operation, event.node_id)
        if self._identity is None:
            self._identity = identity
            expected = event.run_id if self._of_run else event.agent_id
            if expected != self._name:
                return f"the file is named {self._name!r}, but its events belong to {expected!r}"
            if self._of_run and any(identity[1:]):
                return "agent_id, operation and node_id must be empty in a run's stream"
        return None if identity == self._identity else f"the event belongs to {identity}"

    def _position_problem(self, event: Event) -> str | None:
        first = RunStart.type if self._of_run else AgentStart.type
        foreign = _AGENT_TYPES if self._of_run else _RUN_TYPES
        if event.type in foreign and event.type != Recovered.type:
            return f"{event.type} does not belong in this stream"
        if self._ended and event.type != Recovered.type:
            return f"{event.type} after {AgentEnd.type}"
        if not self._started and event.type not in (first, Recovered.type):
            self._started = True
            return f"the stream begins with {event.type}, expected {first}"
        self._ended = self._ended or event.type == AgentEnd.type
        self._started = self._started or event.type == first
        return None

    def _payload(self, line: int, event: Event) -> Payload | None:
        try:
            payload = payload_without_values(event, self._blobs)
            if payload is None:  # for an unknown type, nothing else can be checked
                msgspec.json.decode(event.data, type=dict[str, Any])
        except msgspec.ValidationError as error:
            self._found.add(line, "schema", str(error))
        except (NotFound, StreamDamaged, DiskError):
            return None  # reported by the content check
        except (ValueError, RecursionError) as error:
            self._found.add(line, "bad_json", str(error))
        else:
            return payload
        return None
