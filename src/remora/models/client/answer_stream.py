"""Bodies of responses: documents, or server-sent events that are joined to one."""

import json
import re
from contextlib import suppress
from typing import Any

import httpx2

from remora.models.client.http_errors import error_field
from remora.models.client.retry_policy import Reply
from remora.models.client.wire_format import UnusableAnswer, decode_body
from remora.models.decoding.native_calls import THINKING

WITH_USAGE: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""The keys of a request whose answer is streamed, with token counts at its end."""
LARGEST_BODY = 16 * 1024 * 1024
_DATA, _ERROR = b"data:", b"error:"
_BLANK, _ENOUGH = b"\xef\xbb\xbf\r\n ", 6
_EVENT_STARTS = (_DATA, _ERROR, b"event:", b"id:", b"retry:", b":")
_ERROR_EVENT = re.compile(rb"^error:\s*(\{.*\})\s*$")
"""A line of older versions of llama.cpp."""
_CODE = re.compile(r"\b[45][0-9]{2}\b")
_STATUS_WORDS = {401: "api_key|auth", 429: "rate_limit|quota", 400: "invalid|unsupported|context"}
_GROWING = frozenset({"content", "text", "arguments", *THINKING})
"""Keys of texts that come in parts."""


class AnswerStream:
    """Reads the body of a response: a document, or events that are joined to one.

    Servers answer requests for a stream with a document, and the other way round, whatever they say
    of its type. Events may be split anywhere into the bytes that arrive. `is_over` is True after the
    event that ends the answer, or that reports an error.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._body = bytearray()
        self._are_events: bool | None = None
        self._read = 0
        self._joined: dict[str, Any] = {}

    def add(self, data: bytes) -> bool:
        """Take the next bytes. Return True if an event is complete, comments aside.

        Raises UnusableAnswer if an event is not a JSON object, or if there are too many bytes.
        """
        self._body += data
        if len(self._body) > LARGEST_BODY:
            raise UnusableAnswer(f"more than {LARGEST_BODY} bytes")
        if not self._has_events:
            return False
        *lines, rest = bytes(self._body[self._read :]).split(b"\n")
        self._read = len(self._body) - len(rest)
        lines = [_ERROR_EVENT.sub(rb'data: {"error": \1}', line) for line in lines]
        events = [line[len(_DATA) :].strip() for line in lines if line.startswith(_DATA)]
        for event in filter(None, events):
            if event == b"[DONE]":
                self.is_over = True
                continue
            part = decode_body(event)
            if not isinstance(part.get("choices") or [], list):
                raise UnusableAnswer("choices that are not a list")
            _join(self._joined, part)
            reasons = [choice.get("finish_reason") for choice in _dicts(part.get("choices"))]
            self.is_over = self.is_over or bool(part.get("error")) or any(reasons)
        return bool(events)

    def reply(self, status: int, headers: httpx2.Headers, *, generates: bool = False) -> Reply:
        """Return the whole response. An error in a response of status 200 has the error's status.

        If it `generates` text, words without an answer are an error. Raises RemoteProtocolError if
        the end of the events is missing.
        """
        body, whole = bytes(self._body), self._joined
        if self._has_events and status < 300:
            if not self.is_over:
                raise httpx2.RemoteProtocolError("the answer ended in the middle")
            for choice in _dicts(whole.get("choices")):
                if "delta" in choice:
                    choice["message"] = choice.pop("delta")
            body = json.dumps(whole).encode("ascii")
        elif status < 300 and (generates or b'"error"' in body):
            with suppress(UnusableAnswer):
                whole = decode_body(body)
        first = (_dicts(whole.get("choices")) or [{}])[0]
        error = whole.get("error") or first.get("error")
        is_answer = bool(first) and not (error and (self._has_events or "error" in first))
        if generates and not error and error_field(whole):
            error = whole
        if status < 300 and error and not is_answer:
            status, body = _status_of(error), json.dumps({"error": error}).encode()
        location = headers.get("Location", "") if 300 <= status < 400 else ""
        return Reply(status, headers.get("Retry-After"), body, location)

    @property
    def _has_events(self) -> bool:
        if self._are_events is None:
            begin = self._body.lstrip(_BLANK)
            self._are_events = begin.startswith(_EVENT_STARTS) if len(begin) >= _ENOUGH else None
        return bool(self._are_events)


def _status_of(error: Any) -> int:
    """Return the HTTP status that an error names, as a number or as text."""
    values = error if isinstance(error, dict) else {}
    words = " ".join(str(values.get(key)) for key in ("code", "status", "status_code", "type"))
    if (number := _CODE.search(words)) is not None:
        return int(number[0])
    return next((status for status, word in _STATUS_WORDS.items() if re.search(word, words)), 500)


def _join(whole: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a part to what is known: parts of texts follow each other, and other values replace."""
    for key, value in part.items():
        known = whole.get(key)
        if isinstance(known, list) and isinstance(value, str):
            known.append({"type": "text", "text": value})
        elif isinstance(known, str) and isinstance(value, str) and key in _GROWING:
            whole[key] = known + value
        elif isinstance(known, dict) and isinstance(value, dict):
            _join(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            _join_items(known, value)
        elif value not in (None, "") or key not in whole:
            whole[key] = value


def _join_items(known: list[Any], items: list[Any]) -> None:
    """Join items that have an index with the item of the same index, and append the others."""
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        same = [] if index is None else [old for old in _dicts(known) if old.get("index") == index]
        if same:
            _join(same[0], item)
        else:
            known.append(item)


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
