"""OTLP requests in JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from remora.exports.otel.span import Span, otlp_attributes, span_json

_MOST = 512
_LARGEST = 2**21
"""Maximum number of spans in a request, and of characters in their strings.

Receivers limit the size of a request. A single span is sent whatever its size.
"""


def request_documents(spans: Iterable[Span], version: str) -> Iterator[dict[str, Any]]:
    """Yield each `ExportTraceServiceRequest` as JSON.

    A request contains at most 512 spans.
    """
    for batch in _batches(spans):
        resource = {"service.name": "remora", "service.version": version}
        scope = {"name": "remora.trace", "version": version}
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
