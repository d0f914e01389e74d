"""Spans and their OTLP JSON. Span IDs are derived from names and numbers in the stream."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec

from remora.version import __version__

INTERNAL, CLIENT = 1, 3
"""Kinds of spans in OTLP."""
_ERROR = 2
"""The status code of an error in OTLP."""
_MOST = 512
_LARGEST = 2**21
"""Maximum number of spans in a request, and of characters in their strings.

Receivers limit the size of a request. A single span is sent whatever its size.
"""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a run's trace. Times have the same format as in streams (RFC 3339)."""

    run_id: str
    span_id: str
    name: str
    began: str
    ended: str
    attributes: dict[str, Any]
    parent: str = ""
    """The ID of the span that contains it, or an empty string."""
    kind: int = INTERNAL
    error: tuple[str, str] | None = None
    """An error class and a message."""
    events: tuple[dict[str, Any], ...] = ()
    """Events in OTLP's JSON format."""


def trace_id(run_id: str) -> str:
    """Return the trace ID of a run, as 32 hex digits."""
    return sha256(f"remora trace {run_id}".encode()).hexdigest()[:32]


def span_id(run_id: str, agent_id: str, place: str | int) -> str:
    """Return the span ID of an event, an agent or a run, as 16 hex digits.

    `place` is the `seq` of the event, or the string `agent` or `run`.
    """
    return sha256(f"remora span {run_id} {agent_id} {place}".encode()).hexdigest()[:16]


def span_json(span: Span) -> dict[str, Any]:
    began, ended = nanoseconds(span.began), nanoseconds(span.ended)
    attributes, status = span.attributes, {}
    if span.error is not None:
        attributes = {**attributes, "error.type": span.error[0]}
        status = {"code": _ERROR, "message": span.error[1]}
    return {
        "traceId": trace_id(span.run_id),
        "spanId": span.span_id,
        **({"parentSpanId": span.parent} if span.parent else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": began,
        # if the clock jumped back, a span must not end before its start
        "endTimeUnixNano": max(began, ended, key=int),
        "attributes": otlp_attributes(attributes),
        "events": list(span.events),
        "status": status,
    }


def nanoseconds(timestamp: str) -> str:
    """Return the nanoseconds since 1970 as a string, or `0` if the timestamp is invalid."""
    try:
        when = msgspec.convert(timestamp, datetime)
    except msgspec.ValidationError:
        return "0"
    seconds = int(when.replace(microsecond=0).timestamp())
    return str(seconds * 1_000_000_000 + when.microsecond * 1000)


_INT64 = 2**63


def otlp_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an OTLP attribute for each value that is not None, in the same order."""
    return [
        {"key": key, "value": any_value(value)}
        for key, value in attributes.items()
        if value is not None
    ]


def any_value(value: Any) -> dict[str, Any]:
    """Return a value in OTLP's JSON format.

    Values of unsupported types are converted with `str`.
    """
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return {"intValue": str(value)}
    if isinstance(value, float) and isfinite(value):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": str(value)}


def request_documents(spans: Iterable[Span]) -> Iterator[dict[str, Any]]:
    """Yield each `ExportTraceServiceRequest` as JSON.

    A request contains at most 512 spans.
    """
    for batch in _batches(spans):
        resource = {"service.name": "remora", "service.version": __version__}
        scope = {"name": "remora.trace", "version": __version__}
        yield {
            "resourceSpans": [
                {
                    "resource": {"attributes": otlp_attributes(resource)},
                    "scopeSpans": [{"scope": scope, "spans": batch}],
                }
            ]
        }


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
