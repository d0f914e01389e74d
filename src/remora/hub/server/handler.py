"""Handler interface of both servers, and conversion of errors to answers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from remora.hub.protocol import Refused, Request, decode_request, problem_line

_log = logging.getLogger("remora.hub")


class Handler(Protocol):
    """The daemon, as its servers use it."""

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        """Return the line that answers, at once if possible. Raises Refused."""

    def subscribe(self, send: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `send` with a line for each generation until the returned function is called."""


def answer_body(handler: Handler, body: bytes) -> tuple[Request | None, bytes | Awaitable[bytes]]:
    """Return the request of a line or body (None if it is not one) and its answer. Never raises."""
    request = None
    try:
        request = decode_request(body)
        answer = handler.answer(request)
    except Exception as error:  # noqa: BLE001 (one question must not end the daemon)
        return request, _sorry(request, error)
    return request, answer if isinstance(answer, bytes) else _awaited(request, answer)


async def _awaited(request: Request, answer: Awaitable[bytes]) -> bytes:
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 (one question must not end the daemon)
        return _sorry(request, error)


def _sorry(request: Request | None, error: Exception) -> bytes:
    """The answer to a question that has none; what is a bug goes to the log."""
    if isinstance(error, Refused):
        if request is not None:
            error.id = request.id
        return problem_line(error)
    _log.error("a request failed", exc_info=error)
    message = f"{type(error).__name__}; the log says more"
    failed = Refused("internal", message)
    if request is not None:
        failed.id = request.id
    return problem_line(failed)
