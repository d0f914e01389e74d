"""Handler interface for both servers, and conversion of errors to answers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from remora.hub.protocol import Refused, Request, decode_request, problem_line

_log = logging.getLogger("remora.hub")


class Handler(Protocol):
    """Interface of the daemon for its servers."""

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        """Return the answer line, or an awaitable if the answer is not available immediately.

        Raises Refused if the request cannot be answered.
        """

    def subscribe(self, send: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `send` with a line for each new generation.

        Call the returned function to unsubscribe.
        """


def answer_body(handler: Handler, body: bytes) -> tuple[Request | None, bytes | Awaitable[bytes]]:
    """Decode a request, and return it with its answer.

    The request is None if it is invalid. Never raises.
    """
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
    """Return the answer for an error. Unexpected errors are logged."""
    if not isinstance(error, Refused):
        _log.error("a request failed", exc_info=error)
        error = Refused("internal", f"{type(error).__name__}; see the log")
    if request is not None:
        error.id = request.id
    return problem_line(error)
