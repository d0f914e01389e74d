"""JSON Schemas (2020-12) of packets and stream lines, generated from the records."""

from typing import Any

import msgspec

from remora.memory.events import PAYLOADS, Event
from remora.memory.packet import DecisionPacket

_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_REFERENCE = "#/$defs/{name}"


def packet_schema() -> dict[str, Any]:
    return _DIALECT | msgspec.json.schema(DecisionPacket)


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
    return {**_DIALECT, **envelope, "allOf": by_type, "$defs": parts}
