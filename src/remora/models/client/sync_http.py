"""Synchronous connection to a server, used to probe it and to count tokens."""

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

import httpx2

from remora.errors import ModelError, RefusedRequest
from remora.models.client.accepted_keys import AcceptedKeys, KeyTrial
from remora.models.client.answer_stream import AnswerStream
from remora.models.client.http_errors import server_failure, unusable_answer, unusable_environment
from remora.models.client.retry_policy import (
    LONGEST_PAUSE_S,
    Failure,
    Reply,
    RequestLimits,
    is_failure,
    next_pause,
    retry_after_s,
)
from remora.models.client.server_address import Address
from remora.models.client.wire_format import UnusableAnswer, decode_body

_Http = TypeVar("_Http")
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
        self._paused_by: ModelError | None = None
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

    def record(self, result: Failure, url: str, error: ModelError | None = None) -> None:
        """Record the last response to a request, or why there was none.

        If it asks for a long pause, all questions raise its `error` until that is over.
        """
        pause = retry_after_s(result, datetime.now(UTC)) or 0.0
        with self._lock:
            if error is not None and pause > LONGEST_PAUSE_S:
                self._paused_by, self._open_until = error, self._clock() + pause
            elif is_failure(result):
                self._failures += 1
                self._open_until = self._clock() + PAUSE_S
            elif url.endswith(_GENERATION):
                self._failures = 0

    def _check(self, address: Address) -> float:
        """Return the current time. Raise ModelError if no request may be sent now."""
        now = self._clock()
        if self._paused_by is not None and now < self._open_until:
            raise ModelError(self._paused_by.message, hint=self._paused_by.hint)
        if self._failures >= FAILURES and now < self._open_until:
            raise ModelError(
                f"the model server at {address.shown} was not asked, "
                f"because it failed to answer {FAILURES} requests in a row",
                hint="check the server, and repeat the jobs with `remora retry`",
            )
        return now


_REFUSED = (401, 403)


class ServerConnection:
    """A thread-safe connection to one server. It never exposes the API key.

    `breaker` counts the failures of the server, and `keys` knows what it takes of requests. Both can
    be shared with an async client.
    """

    def __init__(self, address: Address, *, key: str | None, limits: RequestLimits) -> None:
        self.address = address
        self.key = key
        self.breaker = CircuitBreaker()
        self.keys = AcceptedKeys()
        self._limits = limits
        self._http = open_http(httpx2.Client, address, key, limits.timeout_s)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post JSON to the endpoint `path`, with retries, and return the response.

        Raises ModelError if the request fails or the response is not a JSON object.
        """
        self.breaker.check(self.address)
        for attempt in count():
            failure: Failure
            try:
                failure = self._send("POST", f"{self.address.root}{path}", body)
            except httpx2.TransportError as error:
                failure = error
            pause = next_pause(failure, attempt, self._limits, datetime.now(UTC))
            if pause is None:
                self.breaker.record(failure, path)
                if isinstance(failure, Reply) and failure.status < 300:
                    return self._decoded(failure.body)
                raise self.error_for(failure)
            time.sleep(pause)
        raise AssertionError("unreachable")

    def request_once(self, method: str, url: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request without retries, but with the keys that the server takes.

        Return the JSON object in the response. If the server returns an error status, or the
        response is not a JSON object, return the HTTP status. Raises ModelError if the server
        cannot be reached, rejects the key or leads to another one.
        """
        trial = KeyTrial(self.keys, body or {})
        while True:
            try:
                reply = self._send(method, url, None if body is None else trial.sent)
            except httpx2.TransportError as error:
                raise self.error_for(error) from error
            if reply.status < 300:
                break
            refusal = self.error_for(reply)
            if reply.status in _REFUSED or reply.location:
                raise refusal
            if not isinstance(refusal, RefusedRequest) or not trial.refuse(refusal):
                return reply.status
        trial.accept()
        try:
            return decode_body(reply.body)
        except UnusableAnswer:
            return reply.status

    def error_for(self, failure: Failure, timeout_s: float | None = None) -> ModelError:
        """Return the error for a failed request, which had another time limit if it is given."""
        limit = timeout_s or self._limits.timeout_s
        return server_failure(failure, self.address, key=self.key, timeout_s=limit)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _send(self, method: str, url: str, body: dict[str, Any] | None) -> Reply:
        # httpx2 only limits each single read; this also stops a server that sends byte by byte
        end = time.monotonic() + self._limits.timeout_s
        content, answer = None if body is None else json.dumps(body), AnswerStream()
        try:
            with self._http.stream(method, url, content=content) as response:
                for part in response.iter_bytes():
                    answer.add(part)
                    if time.monotonic() > end:
                        raise httpx2.ReadTimeout("timed out")
            return answer.reply(response.status_code, response.headers)
        except httpx2.DecodingError as error:
            raise unusable_answer(self.address, "a body that cannot be decompressed") from error
        except UnusableAnswer as error:
            raise unusable_answer(self.address, str(error)) from error

    def _decoded(self, body: bytes) -> dict[str, Any]:
        try:
            return decode_body(body)
        except UnusableAnswer as error:
            raise unusable_answer(self.address, str(error)) from error


def open_http(
    kind: Callable[..., _Http], address: Address, key: str | None, timeout_s: float
) -> _Http:
    """Return an HTTP client for a server.

    Raises ModelError if the environment has a proxy or certificates that cannot be used.
    """
    headers = {"Content-Type": "application/json"}
    try:
        return kind(
            headers=headers if key is None else {**headers, "Authorization": f"Bearer {key}"},
            timeout=timeout_s,
            # requests to this machine must not go through a proxy set in the environment
            trust_env=not address.loopback,
        )
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        raise unusable_environment(error) from error
