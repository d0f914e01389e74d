"""A server's refusal as a `ModelError`: what it said, without the key, and what to do next."""

import contextlib
import json
from typing import Any

from remora.errors import ContextTooLarge, ModelError

_SAID = 300
_TOO_LARGE = ("exceed_context_size", "context_length_exceeded", "maximum context length")
_HINTS = {
    401: "set REMORA_API_KEY (or OPENAI_API_KEY) to a key that this server accepts",
    403: "the key in REMORA_API_KEY (or OPENAI_API_KEY) may not use this model",
    404: "check model.base_url and model.name: `remora model status` shows what the server has",
    429: "the server limits requests: wait, or lower model.max_concurrency",
}


def refusal(status: int, body: bytes, *, shown: str, key: str | None) -> ModelError:
    """The error for an answer with an HTTP status other than 2xx from the server at `shown`."""
    said = _said(body)
    if key:
        said = said.replace(key, "…")
    if any(mark in body.decode("utf-8", "replace") for mark in _TOO_LARGE):
        return ContextTooLarge(
            f"the model server at {shown} says the request is too large: {said}",
            hint="lower runner.memory.packet_size_limit, or serve the model with a larger context",
        )
    hint = _HINTS.get(status, "look at the server's own log" if status >= 500 else "")
    return ModelError(f"the model server at {shown} answered {status}: {said}", hint=hint)


def unusable(shown: str, why: str) -> ModelError:
    """The error for a 2xx answer that no client can use."""
    return ModelError(
        f"the model server at {shown} answered what no client can use: {why}",
        hint="check that model.base_url is the address of an OpenAI-compatible server",
    )


def _said(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        text = _message(json.loads(text)) or text
    return " ".join(text.split())[:_SAID] or "nothing"


def _message(body: Any) -> str:
    match body:
        case {"error": {"message": str(message)}} | {"error": str(message)}:
            return message
        case {"message": str(message)} | {"detail": str(message)}:
            return message
    return ""
