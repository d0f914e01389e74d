"""The tab *Prompt*: each request exactly as it was sent, with its hash, and the answer."""

from hashlib import sha256
from typing import Any

import msgspec

from remora.memory.events import ModelRequest, ModelResponse
from remora.trace.blobs import resolved_data
from remora.web.records import TurnRecord


class _Sent(msgspec.Struct):
    messages: msgspec.Raw | None = None
    prompt: str | None = None


def prompt(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the requests of the turn, each with its answer."""
    pairs: list[dict[str, Any]] = []
    blobs = turn.agent.project.trace.blobs
    for line in turn.lines:
        if line.event is None:
            continue
        if line.event.type == ModelRequest.type:
            data = resolved_data(line.event, blobs)
            sent = sent_bytes(data)
            digest, size = sha256(sent).hexdigest(), len(sent)
            pairs.append(
                {
                    "seq": line.event.seq,
                    "request": data,
                    "sha256": digest,
                    "size": size,
                    "answer": None,
                }
            )
        elif line.event.type == ModelResponse.type and pairs:
            pairs[-1]["answer"] = resolved_data(line.event, blobs)
    return {"pairs": pairs}


def sent_bytes(request: dict[str, Any]) -> bytes:
    """Return a prompt as it was sent: the text, or the messages as JSON."""
    if request.get("prompt") is not None:
        return str(request["prompt"]).encode("utf-8", "surrogatepass")
    return msgspec.json.encode(request.get("messages"))
