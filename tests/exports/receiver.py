"""An OTLP/HTTP receiver: a real server, which reads requests with OpenTelemetry's own messages."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Receiver(ThreadingHTTPServer):
    """Answers with `statuses` in turn, then with 200; keeps what it accepted."""

    def __init__(self, statuses: Sequence[int] = (), *, refuses: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses)
        self.refuses = refuses
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.headers.append(dict(self.headers))
        wrong = (
            self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf"
        )
        status = 400 if wrong else self.server.statuses.pop(0) if self.server.statuses else 200
        answer = ExportTraceServiceResponse()
        if status == 200:
            self.server.requests.append(ExportTraceServiceRequest.FromString(body))
            if self.server.refuses:
                answer.partial_success.rejected_spans = self.server.refuses
                answer.partial_success.error_message = "too many"
        said = answer.SerializeToString()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Not a word."""


@contextmanager
def receiving(*statuses: int, refuses: int = 0) -> Iterator[Receiver]:
    server = Receiver(statuses, refuses=refuses)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
