"""Schema check, which covers each event's numbering, identity, type and data."""

import re
from typing import Any

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import PAYLOADS, AgentEnd, AgentStart, Event, Payload, Recovered, RunStart
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import payload_without_values
from remora.trace.verify.verify_report import Problems

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
