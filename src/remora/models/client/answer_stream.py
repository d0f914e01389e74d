"""Streamed answers: server-sent events, joined to the document that is sent without streaming."""

import json
from typing import Any

from remora.models.client.wire_format import UnusableAnswer, decode_body

WITH_USAGE: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""The keys of a request whose answer is streamed, with token counts at its end."""
EVENT_STREAM = "text/event-stream"
_DATA = b"data:"
_GROWING = frozenset({"content", "text", "arguments", "reasoning_content", "reasoning"})
"""Keys of texts that come in parts."""


class AnswerStream:
    """Joins the events of one answer, which may be split anywhere into the bytes that arrive.

    `is_over` is True after the event that ends the answer, or that reports an error.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._joined: dict[str, Any] = {}
        self._rest = b""

    def add(self, data: bytes) -> bool:
        """Take the next bytes. Return True if an event is complete, comments aside.

        Raises UnusableAnswer if an event is not a JSON object.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = [line[len(_DATA) :].strip() for line in lines if line.startswith(_DATA)]
        for event in filter(None, events):
            if event == b"[DONE]":
                self.is_over = True
                continue
            part = decode_body(event)
            if not isinstance(part.get("choices", []), list):
                raise UnusableAnswer("choices that are not a list")
            _join(self._joined, part)
            reasons = [choice.get("finish_reason") for choice in _dicts(part.get("choices"))]
            self.is_over = self.is_over or "error" in part or any(reasons)
        return bool(events)

    @property
    def error_status(self) -> int | None:
        """The status of the error that ended the answer, or None."""
        if "error" not in self._joined:
            return None
        error = self._joined["error"]
        code = error.get("code") if isinstance(error, dict) else None
        return code if isinstance(code, int) and 400 <= code < 600 else 500

    def document(self) -> bytes:
        """Return the answer, or the error, as the JSON that is sent without streaming."""
        for choice in _dicts(self._joined.get("choices")):
            if "delta" in choice:
                choice["message"] = choice.pop("delta")
        return json.dumps(self._joined).encode("ascii")


def _join(whole: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a part to what is known: parts of texts follow each other, and other values replace."""
    for key, value in part.items():
        known = whole.get(key)
        if isinstance(known, str) and isinstance(value, str) and key in _GROWING:
            whole[key] = known + value
        elif isinstance(known, dict) and isinstance(value, dict):
            _join(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            _join_items(known, value)
        elif value is not None or key not in whole:
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
