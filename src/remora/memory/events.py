"""Events of the Long Track: the envelope of all event types, and how lines are decoded.

The payloads are defined in `payloads`, and are also imported from here.
"""

from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from remora.json_schema import DIALECT
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta
from remora.memory.packet import DecisionPacket
from remora.memory.payloads import (
    GENESIS,
    AgentEnd,
    AgentError,
    AgentStart,
    Change,
    ContextUpdate,
    Escalation,
    Head,
    ModelRequest,
    ModelResponse,
    Payload,
    Recovered,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.run_payloads import (
    GateResult,
    Gates,
    JobEnd,
    JobStart,
    Review,
    RunEnd,
    RunStart,
    TakenOut,
    Written,
)
from remora.text import escape_surrogates

__all__ = [
    "GENESIS",
    "PAYLOADS",
    "VERSION",
    "AgentEnd",
    "AgentError",
    "AgentStart",
    "Change",
    "ContextUpdate",
    "Escalation",
    "Event",
    "EventName",
    "GateResult",
    "Gates",
    "Head",
    "JobEnd",
    "JobStart",
    "ModelRequest",
    "ModelResponse",
    "Payload",
    "Recovered",
    "Review",
    "RunEnd",
    "RunStart",
    "SubmitResult",
    "TakenOut",
    "ToolCalled",
    "ToolResulted",
    "TurnStart",
    "UnknownVersion",
    "Written",
    "decode_event",
    "payload",
]

PAYLOADS: dict[str, type[Payload]] = {
    kind.type: kind
    for kind in (
        AgentStart,
        TurnStart,
        ContextUpdate,
        ModelRequest,
        ModelResponse,
        ToolCalled,
        ToolResulted,
        SubmitResult,
        AgentError,
        Escalation,
        Recovered,
        AgentEnd,
        RunStart,
        JobStart,
        JobEnd,
        Review,
        Gates,
        RunEnd,
    )
}

VERSION: Final = 1


class EventName(StrEnum):
    """The types of recorded events."""

    AGENT_START = AgentStart.type
    TURN_START = TurnStart.type
    CONTEXT_UPDATE = ContextUpdate.type
    MODEL_REQUEST = ModelRequest.type
    MODEL_RESPONSE = ModelResponse.type
    TOOL_CALL = ToolCalled.type
    TOOL_RESULT = ToolResulted.type
    SUBMIT_RESULT = SubmitResult.type
    AGENT_ERROR = AgentError.type
    ESCALATION = Escalation.type
    RECOVERED = Recovered.type
    AGENT_END = AgentEnd.type
    RUN_START = RunStart.type
    JOB_START = JobStart.type
    JOB_END = JobEnd.type
    REVIEW = Review.type
    GATES = Gates.type
    RUN_END = RunEnd.type


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of a stream. `data` is not decoded until `payload` is called.

    This lets a fold skip outputs that it does not need, and lets a copy preserve unknown keys.
    Python's garbage collector skips events, because a run has many and none is part of a cycle.
    """

    v: Literal[1]
    """The format version."""
    seq: int
    """The number of the line in its stream, from 0."""
    timestamp: str
    """The time of the append, in RFC 3339 and UTC, for information only."""
    run_id: str
    agent_id: str
    """The agent whose stream it is, or an empty string in the stream of a run."""
    operation: str
    node_id: str
    """The key of the agent's node, or an empty string in the stream of a run."""
    turn: int
    """The agent's turn, or 0 before the first one and in runs."""
    type: str
    """The key of the payload's type in `PAYLOADS`, or another program's word."""
    data: msgspec.Raw
    """The payload as JSON."""
    packet_delta: PacketDelta | None
    """The change of the packet, which makes the packets of all turns from the first one."""
    hash: str = ""
    """The hash of the line before and of this line without its hash."""


class UnknownVersion(msgspec.ValidationError):
    """The line has a format version that this version of Remora cannot read."""


class _Versioned(msgspec.Struct):
    v: int


_EVENT = msgspec.json.Decoder(Event)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in PAYLOADS.items()
}
_ANY_FIELDS: dict[str, frozenset[str]] = {
    name: frozenset(f.name for f in msgspec.structs.fields(kind) if "Any" in str(f.type))
    for name, kind in PAYLOADS.items()
}
"""Fields that accept any type. Values that JSON cannot represent have a marked form there."""


def decode_event(line: bytes) -> Event:
    """Decode an event from one line of a stream.

    Raises `msgspec.DecodeError` if the line is not valid, and `UnknownVersion` if it has another
    format version. Unknown keys and event types are accepted.
    """
    try:
        return _EVENT.decode(line)
    except msgspec.ValidationError as error:
        if (version := msgspec.json.decode(line, type=_Versioned).v) == VERSION:
            raise
        raise UnknownVersion(f"format version {version} is not supported") from error


def payload(event: Event) -> Payload | None:
    """Return the typed payload, or None if the event type is unknown.

    Raises `msgspec.ValidationError` if the data does not match its type. A blob reference
    (`{"$blob": …}`) is valid only in fields that accept any type. If you need complete values,
    resolve references first (`remora.trace.read.blobs`).
    """
    if (decoder := _DECODERS.get(event.type)) is None:
        return None
    try:
        decoded: Payload = decoder.decode(event.data)
    except msgspec.ValidationError:
        decoded = _payload_with_marks(event)
    return decoded


def _payload_with_marks(event: Event) -> Payload:
    """Return the payload, with tagged values in its typed fields decoded.

    This applies to strings with lone surrogates and to infinite scores.
    """
    kind = PAYLOADS[event.type]
    data = msgspec.json.decode(event.data)
    if isinstance(data, dict):
        typed = data.keys() - _ANY_FIELDS[event.type]
        data |= {name: _escaped(decode_value(data[name])) for name in typed}
    return msgspec.convert(data, kind)


def _escaped(value: Any) -> Any:
    return escape_surrogates(value) if isinstance(value, str) else value


_REFERENCE = "#/$defs/{name}"


def packet_schema() -> dict[str, Any]:
    """Return the schema of a packet."""
    return DIALECT | msgspec.json.schema(DecisionPacket)


def event_schema() -> dict[str, Any]:
    """Return the schema of a stream line, with the envelope and the payload of each `type`."""
    schemas, parts = msgspec.json.schema_components(
        (Event, *PAYLOADS.values()), ref_template=_REFERENCE
    )
    envelope = parts.pop("Event")
    by_type = [
        {"if": {"properties": {"type": {"const": name}}}, "then": {"properties": {"data": schema}}}
        for name, schema in zip(PAYLOADS, schemas[1:], strict=True)
    ]
    return {**DIALECT, **envelope, "allOf": by_type, "$defs": parts}
