"""Synchronous connection to a server, used to probe it and to count tokens."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

import httpx2

from remora.errors import ModelError, RefusedRequest
from remora.models.client.accepted_keys import KeyTrial
from remora.models.client.answer_stream import AnswerStream
from remora.models.client.http_errors import server_failure, unusable_answer, unusable_environment
from remora.models.client.retry_policy import Failure, Reply, RequestLimits, next_pause
from remora.models.client.server_address import Address
from remora.models.client.wire_format import UnusableAnswer, decode_body

_Http = TypeVar("_Http")
_REFUSED = (401, 403)
_NEEDED = ("/models", "/chat/completions")


class ServerConnection:
    """A thread-safe connection to one server. It never exposes the API key.

    `changed_keys` are keys of requests that the server refused, and can be shared with an async
    client.
    """

    def __init__(self, address: Address, *, key: str | None, limits: RequestLimits) -> None:
        self.address = address
        self.key = key
        self.changed_keys: dict[str, str] = {}
        self._limits = limits
        self._http = open_http(httpx2.Client, address, key, limits.timeout_s)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post JSON to the endpoint `path`, with retries, and return the response.

        Raises ModelError if the request fails or the response is not a JSON object.
        """
        for attempt in count():
            failure: Failure
            try:
                failure = self._send("POST", f"{self.address.root}{path}", body)
            except httpx2.TransportError as error:
                failure = error
            pause = next_pause(failure, attempt, self._limits, datetime.now(UTC))
            if pause is None:
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
        trial = KeyTrial(self.changed_keys, body or {})
        while True:
            try:
                reply = self._send(method, url, None if body is None else trial.sent)
            except httpx2.TransportError as error:
                raise self.error_for(error) from error
            if reply.status < 300:
                break
            refusal = self.error_for(reply)
            is_redirected = 300 <= reply.status < 400 and url.endswith(_NEEDED)
            if reply.status in _REFUSED or is_redirected:
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
