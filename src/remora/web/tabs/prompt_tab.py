"""The tab *Prompt*: each request as it was sent, with its hash, and the answer."""

from hashlib import sha256
from typing import Any

import msgspec

from remora.memory.events import ModelRequest, ModelResponse
from remora.web.agent_records import TurnRecord


def prompt(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the requests of the turn, each with its answer."""
    pairs: list[dict[str, Any]] = []
    for line in turn.lines:
        if line.event is None:
            continue
        if line.event.type == ModelRequest.type:
            data = turn.whole(line.event)
            pairs.append(_request(data, is_exact=turn.is_exact(line.event)))
        elif line.event.type == ModelResponse.type and pairs:
            answer = turn.whole(line.event)
            usage = {key: n for key, n in (answer.get("usage") or {}).items() if n is not None}
            pairs[-1] |= {"answer": answer, "usage": usage}
    return {"pairs": pairs}


def _request(request: dict[str, Any], *, is_exact: bool) -> dict[str, Any]:
    sent = sent_bytes(request)
    tools = (request.get("decoding") or {}).get("tools")
    return {
        "request": request,
        "sha256": sha256(sent).hexdigest() if is_exact else "",
        "size": len(sent),
        "tools_size": len(msgspec.json.encode(tools)) if tools else 0,
        "answer": None,
        "usage": {},
    }


def sent_bytes(request: dict[str, Any]) -> bytes:
    """Return a prompt as it was sent: the text, or the messages as JSON."""
    if request.get("prompt") is not None:
        return str(request["prompt"]).encode("utf-8", "surrogatepass")
    return msgspec.json.encode(request.get("messages"))
