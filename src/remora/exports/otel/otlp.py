"""OTLP requests in JSON and protobuf format."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from remora.exports.otel.span import Span, otlp_attributes, span_json

_MOST = 512
_LARGEST = 2**21
"""Maximum number of spans in a request, and of characters in their strings.

Receivers limit the size of a request. A single span is sent whatever its size.
"""
_VARINT, _FIXED64, _BYTES = 0, 1, 2

# JSON field name → field number and kind, as opentelemetry-proto 1.x declares them;
# a tuple's third entry is the type of the nested message
_MESSAGES: dict[str, dict[str, tuple[int, str, str]]] = {
    "Request": {"resourceSpans": (1, "message", "ResourceSpans")},
    "ResourceSpans": {
        "resource": (1, "message", "Resource"),
        "scopeSpans": (2, "message", "ScopeSpans"),
    },
    "Resource": {"attributes": (1, "message", "KeyValue")},
    "ScopeSpans": {"scope": (1, "message", "Scope"), "spans": (2, "message", "Span")},
    "Scope": {"name": (1, "string", ""), "version": (2, "string", "")},
    "Span": {
        "traceId": (1, "hex", ""),
        "spanId": (2, "hex", ""),
        "parentSpanId": (4, "hex", ""),
        "name": (5, "string", ""),
        "kind": (6, "varint", ""),
        "startTimeUnixNano": (7, "fixed64", ""),
        "endTimeUnixNano": (8, "fixed64", ""),
        "attributes": (9, "message", "KeyValue"),
        "events": (11, "message", "Event"),
        "status": (15, "message", "Status"),
    },
    "Event": {
        "timeUnixNano": (1, "fixed64", ""),
        "name": (2, "string", ""),
        "attributes": (3, "message", "KeyValue"),
    },
    "Status": {"message": (2, "string", ""), "code": (3, "varint", "")},
    "KeyValue": {"key": (1, "string", ""), "value": (2, "message", "AnyValue")},
    "AnyValue": {
        "stringValue": (1, "string", ""),
        "boolValue": (2, "varint", ""),
        "intValue": (3, "varint", ""),
        "doubleValue": (4, "double", ""),
        "arrayValue": (5, "message", "ArrayValue"),
    },
    "ArrayValue": {"values": (1, "message", "AnyValue")},
}


def request_documents(spans: Iterable[Span], version: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each `ExportTraceServiceRequest` as JSON, with its number of spans.

    A request contains at most 512 spans.
    """
    for batch in _batches(spans):
        resource = {"service.name": "remora", "service.version": version}
        scope = {"name": "remora.trace", "version": version}
        document = {
            "resourceSpans": [
                {
                    "resource": {"attributes": otlp_attributes(resource)},
                    "scopeSpans": [{"scope": scope, "spans": batch}],
                }
            ]
        }
        yield document, len(batch)


def _batches(spans: Iterable[Span]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for span in spans:
        more = sum(len(value) for value in span.attributes.values() if isinstance(value, str))
        if batch and (len(batch) == _MOST or size + more > _LARGEST):
            yield batch
            batch, size = [], 0
        batch.append(span_json(span))
        size += more
    if batch:
        yield batch


def protobuf(document: dict[str, Any]) -> bytes:
    return _message("Request", document)


def rejected_spans(answer: bytes) -> int:
    """Return the number of rejected spans in a receiver's protobuf response (`partial_success`).

    Raises ValueError if the response is invalid.
    """
    for number, value in _fields(answer):
        if number == 1 and isinstance(value, bytes):
            return next((int(v) for n, v in _fields(value) if n == 1), 0)
    return 0


def _message(kind: str, value: dict[str, Any]) -> bytes:
    fields = _MESSAGES[kind]
    parts: list[bytes] = []
    for name, item in value.items():
        number, form, inner = fields[name]
        several = item if isinstance(item, list) else [item]
        parts += [_field(number, form, inner, each) for each in several]
    return b"".join(parts)


def _field(number: int, form: str, inner: str, value: Any) -> bytes:
    match form:
        case "varint":
            return _tag(number, _VARINT) + _varint(int(value))
        case "fixed64":
            return _tag(number, _FIXED64) + struct.pack("<Q", int(value))
        case "double":
            return _tag(number, _FIXED64) + struct.pack("<d", value)
    match form:
        case "hex":
            data = bytes.fromhex(value)
        case "string":
            data = value.encode()
        case _:
            data = _message(inner, value)
    return _tag(number, _BYTES) + _varint(len(data)) + data


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # a negative number is its two's complement
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        if tag & 7 == _VARINT:
            number, place = _read_varint(data, place)
            yield tag >> 3, number
        elif tag & 7 == _BYTES:
            size, place = _read_varint(data, place)
            yield tag >> 3, data[place : place + size]
            place += size
        else:
            raise ValueError("not a response from an OTLP receiver")


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 64:
        value |= (data[place] & 0x7F) << shift
        place += 1
        if data[place - 1] < 0x80:
            return value, place
        shift += 7
    raise ValueError("not a response from an OTLP receiver")
