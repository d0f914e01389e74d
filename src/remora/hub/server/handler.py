"""Handler interface of both servers, and conversion of errors to answers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from remora.hub.protocol import Refused, Request, decode_request, problem_line

_log = logging.getLogger("remora.hub")


class Handler(Protocol):
    """The interface through which the servers use the daemon."""

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        """Return the answer line, immediately if possible. Raises Refused."""

    def subscribe(self, send: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `send` with a line for each generation until the returned function is called."""


def answer_body(handler: Handler, body: bytes) -> tuple[Request | None, bytes | Awaitable[bytes]]:
    """Return the decoded request (None if invalid) and its answer. Never raises."""
    request = None
    try:
        request = decode_request(body)
        answer = handler.answer(request)
    except Exception as error:  # noqa: BLE001 (one request must not end the daemon)
        return request, _error_answer(request, error)
    return request, answer if isinstance(answer, bytes) else _await_answer(request, answer)


async def _await_answer(request: Request, answer: Awaitable[bytes]) -> bytes:
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 (one request must not end the daemon)
        return _error_answer(request, error)


def _error_answer(request: Request | None, error: Exception) -> bytes:
    """Return the answer for an error. Log a bug."""
    if isinstance(error, Refused):
        if request is not None:
            error.id = request.id
        return problem_line(error)
    _log.error("a request failed", exc_info=error)
    message = f"{type(error).__name__}; see the log"
    failed = Refused("internal", message)
    if request is not None:
        failed.id = request.id
    return problem_line(failed)
