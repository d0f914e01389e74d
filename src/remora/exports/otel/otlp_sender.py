"""Sender that posts spans, encoded as protobuf, to an OpenTelemetry receiver over HTTP."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from remora.errors import OutsideError, UsageError
from remora.exports.otel.otlp import protobuf, rejected_spans

_PATH = "/v1/traces"
_AGAIN = frozenset({429, 502, 503, 504})
_TRIES = 4
_LONGEST_WAIT_S = 30.0
_TIMEOUT_S = 30.0


def traces_url(endpoint: str) -> str:
    """Return the URL for sending spans. `/v1/traces` is appended if it is missing.

    Raises UsageError if `endpoint` is not an http(s) URL or contains a user name or password.
    """
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable:
        raise UsageError(
            # text before an @ may contain a password
            f"invalid OTLP endpoint {endpoint.rpartition('@')[2]!r}",
            hint="use a URL such as http://127.0.0.1:4318",
        )
    if parts.username or parts.password:
        raise UsageError(
            f"the OTLP endpoint at {parts.hostname} contains a user name or password",
            hint="set `authorization=…` in OTEL_EXPORTER_OTLP_HEADERS",
        )
    if not parts.path.endswith(_PATH):
        parts = parts._replace(path=parts.path.rstrip("/") + _PATH)
    return parts.geturl()


def headers_from(text: str) -> dict[str, str]:
    """Parse headers in the format of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`.

    `%XX` escapes are decoded.
    """
    pairs = (each.partition("=") for each in text.split(",") if "=" in each)
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}


def send_spans(
    documents: Iterable[tuple[dict[str, Any], int]], endpoint: str, headers: Mapping[str, str]
) -> None:
    """Send each request, which is a document and its number of spans.

    A request is tried up to four times if the receiver is busy (status 429, 502, 503 or 504) or
    unreachable. Raises OutsideError if the receiver stays unreachable or rejects any spans.
    """
    import httpx2

    url = traces_url(endpoint)
    near = _is_loopback(url)  # no proxy for a receiver on this machine
    with (
        _outside_errors(url),
        httpx2.Client(timeout=_TIMEOUT_S, headers=dict(headers), trust_env=not near) as client,
    ):
        for document, count in documents:
            answer = _post(client, url, protobuf(document))
            if answer.status_code != httpx2.codes.OK:
                raise OutsideError(
                    f"{url} returned status {answer.status_code}: {answer.text[:200]!r}",
                    hint="check that this is an OTLP/HTTP receiver; set its key in "
                    "OTEL_EXPORTER_OTLP_HEADERS",
                )
            _check_all_taken(url, answer, count)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _post(client: Any, url: str, body: bytes) -> Any:
    import httpx2

    for attempt in range(1, _TRIES + 1):
        try:
            answer = client.post(
                url, content=body, headers={"Content-Type": "application/x-protobuf"}
            )
        except httpx2.TransportError:
            if attempt == _TRIES:
                raise
            time.sleep(_wait_s(None, attempt))
            continue
        if answer.status_code not in _AGAIN or attempt == _TRIES:
            return answer
        time.sleep(_wait_s(answer.headers.get("Retry-After"), attempt))
    raise AssertionError("unreachable")


def _wait_s(retry_after: str | None, attempt: int) -> float:
    if retry_after is not None and retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_WAIT_S)
    return min(0.1 * float(2**attempt), _LONGEST_WAIT_S)


def _check_all_taken(url: str, answer: Any, count: int) -> None:
    """Raise OutsideError if the response reports rejected spans."""
    if "protobuf" not in answer.headers.get("Content-Type", ""):
        return
    try:
        refused = rejected_spans(answer.content)
    except ValueError:
        return
    if refused:
        raise OutsideError(
            f"{url} rejected {refused} of {count} spans", hint="check the log of the receiver"
        )


@contextmanager
def _outside_errors(url: str) -> Iterator[None]:
    import httpx2

    try:
        yield
    except httpx2.HTTPError as error:
        raise OutsideError(
            f"{url} cannot be reached: {error}", hint="check that the receiver is running"
        ) from error
