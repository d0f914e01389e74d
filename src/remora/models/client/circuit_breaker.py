"""Circuit breaker, which stops sending requests to a server that keeps failing."""

import time
from collections.abc import Callable

from remora.errors import ModelError
from remora.models.client.retry_policy import Failure, is_failure
from remora.models.client.server_address import Address

FAILURES = 3
"""Requests in a row that must fail, each after all of its retries."""
PAUSE_S = 30.0


class CircuitBreaker:
    """Counts the requests in a row that one server failed to answer.

    After `FAILURES` of them, no requests are sent for `PAUSE_S` seconds, so that a run does not wait
    for the timeout of every job that is left. Then one request is sent: if it is answered, the count
    starts again, and otherwise the next pause begins.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    def check(self, address: Address) -> None:
        """Raise ModelError if no request may be sent now."""
        if self._failures < FAILURES:
            return
        now = self._clock()
        if now < self._open_until:
            raise ModelError(
                f"the model server at {address.shown} was not asked, "
                f"because it failed to answer {FAILURES} requests in a row",
                hint="check the server, and repeat the jobs with `remora retry`",
            )
        self._open_until = now + PAUSE_S  # for all requests but this one

    def record(self, result: Failure) -> None:
        """Record the last response to a request, or why there was none."""
        if is_failure(result):
            self._failures += 1
            self._open_until = self._clock() + PAUSE_S
        else:
            self._failures = 0
