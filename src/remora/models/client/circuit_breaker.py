"""Circuit breaker, which stops sending requests to a server that keeps failing."""

import threading
import time
from collections.abc import Callable

from remora.errors import ModelError
from remora.models.client.retry_policy import Failure, is_failure
from remora.models.client.server_address import Address

FAILURES = 3
"""Requests in a row that must fail, each after all of its retries."""
PAUSE_S = 30.0
_GENERATION = "/completions"
"""End of the addresses that generate text."""


class CircuitBreaker:
    """Counts the requests in a row that one server failed to answer. It is thread-safe.

    After `FAILURES` of them, no requests are sent for `PAUSE_S` seconds, so that a run does not wait
    for the timeout of every job that is left. Then the requests of one question are sent: if they
    are answered, the count starts again, and otherwise the next pause begins.

    Only endpoints that generate text reset the count, because a server whose generation hangs can
    still count tokens.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._lock = threading.Lock()

    def check(self, address: Address) -> None:
        """Raise ModelError if no request may be sent now."""
        with self._lock:
            self._check(address)

    def start_question(self, address: Address) -> None:
        """Raise ModelError if no question may be sent now. Its requests need no other check.

        After a pause, only one question may be sent.
        """
        with self._lock:
            now = self._check(address)
            if self._failures >= FAILURES:
                self._open_until = now + PAUSE_S  # for all other questions

    def record(self, result: Failure, url: str) -> None:
        """Record the last response to a request, or why there was none."""
        with self._lock:
            if is_failure(result):
                self._failures += 1
                self._open_until = self._clock() + PAUSE_S
            elif url.endswith(_GENERATION):
                self._failures = 0

    def _check(self, address: Address) -> float:
        """Return the current time. Raise ModelError if no request may be sent now."""
        now = self._clock()
        if self._failures >= FAILURES and now < self._open_until:
            raise ModelError(
                f"the model server at {address.shown} was not asked, "
                f"because it failed to answer {FAILURES} requests in a row",
                hint="check the server, and repeat the jobs with `remora retry`",
            )
        return now
