"""One-line event summaries."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from remora.memory.events import Event
from remora.memory.packet import clip

_WIDTH = 100
_Kind = TypeVar("_Kind")


def summarize_event(event: Event) -> str:
    """Return a short summary; empty if the event type needs none."""
    summarize = _SUMMARIZERS.get(event.type)
    if summarize is None:
        return ""
    try:
        fields = _DECODER.decode(event.data)
    except (ValueError, RecursionError):
        return ""
    return clip(summarize({k: v for k, v in asdict(fields).items() if v is not UNSET}), _WIDTH)


class _SummaryFields(msgspec.Struct):
    """Fields used in summaries; the rest, which may be long, is not decoded."""

    agent_id: Any = UNSET
    args: Any = UNSET
    bytes: Any = UNSET
    changes: msgspec.Raw | UnsetType = UNSET
    choice: Any = UNSET
    decided_by: Any = UNSET
    error: Any = UNSET
    feedback: Any = UNSET
    kind: Any = UNSET
    message: Any = UNSET
    model: Any = UNSET
    node_id: Any = UNSET
    outcome: Any = UNSET
    packet: msgspec.Raw | UnsetType = UNSET
    parent: Any = UNSET
    packet_sha256: Any = UNSET
    plan: msgspec.Raw | UnsetType = UNSET
    prompt_tokens: Any = UNSET
    quarantine: Any = UNSET
    renderer: Any = UNSET
    scores: Any = UNSET
    source: Any = UNSET
    status: Any = UNSET
    stop_reason: Any = UNSET
    text: Any = UNSET
    tool: Any = UNSET
    verdict: Any = UNSET
    verified: Any = UNSET


_DECODER = msgspec.json.Decoder(_SummaryFields)


def call_text(data: dict[str, Any]) -> str:
    """`apply_fix(code="safe")`."""
    args = data.get("args")
    named = args.items() if isinstance(args, dict) else ()
    return f"{data.get('tool')}({', '.join(f'{key}={_json(value)}' for key, value in named)})"


def decision_text(data: dict[str, Any]) -> str:
    """Return who decided, and among how many candidates."""
    scores, choice = data.get("scores"), data.get("choice")
    between = ""
    if isinstance(scores, list) and isinstance(choice, int) and scores:
        between = f", candidate {choice + 1} of {len(scores)}"
    return f"{data.get('decided_by')}{between}"


def _agent_start(data: dict[str, Any]) -> str:
    model = data.get("model")
    named = model.get("name") if isinstance(model, dict) else None
    parent = data.get("parent")
    whence = ""
    if isinstance(parent, dict) and isinstance(parent.get("seq"), int):  # a fork or a retry
        whence = f", from line {parent['seq'] + 1} of {parent.get('agent_id')}"
    return f"{named}{whence}: {_text_member(data.get('packet'), 'goal')}"


def _context_update(data: dict[str, Any]) -> str:
    return f"{data.get('source')}" + (f": {data['error']}" if data.get("error") else "")


def _model_request(data: dict[str, Any]) -> str:
    packet = str(data.get("packet_sha256"))[:12]
    return f"{data.get('prompt_tokens')} tokens, {data.get('renderer')}, packet {packet}"


def _model_response(data: dict[str, Any]) -> str:
    return _json(data.get("text"))


def _tool_call(data: dict[str, Any]) -> str:
    return f"{call_text(data)} by {decision_text(data)}"


def _tool_result(data: dict[str, Any]) -> str:
    changes = _length(data.get("changes"))
    changed = f", {changes} changed" if changes else ""
    error = f": {data['error']}" if data.get("error") else ""
    return f"{data.get('tool')}: {data.get('outcome')}{changed}{error}"


def _submit_result(data: dict[str, Any]) -> str:
    return "verified" if data.get("verified") else "not verified"


def _agent_error(data: dict[str, Any]) -> str:
    return f"{data.get('kind')}: {data.get('message')}"


def _agent_end(data: dict[str, Any]) -> str:
    status, reason = data.get("status"), data.get("stop_reason")
    return f"{status}" if status == reason else f"{status}, {reason}"


def _recovered(data: dict[str, Any]) -> str:
    return f"{data.get('bytes')} bytes of a torn line in {data.get('quarantine')}"


def _run_start(data: dict[str, Any]) -> str:
    jobs = _length(_members(data.get("plan")).get("jobs"))
    return "" if jobs is None else f"{jobs} jobs"


def _job(data: dict[str, Any]) -> str:
    """Put the longest part last, because it may be cut."""
    fields = [str(data[key]) for key in ("agent_id", "status", "node_id") if key in data]
    return " ".join(fields).replace(" node:", " ", 1)


def _review(data: dict[str, Any]) -> str:
    feedback = f": {data['feedback']}" if data.get("feedback") else ""
    return f"{data.get('agent_id')} {data.get('verdict')}{feedback}"


def _members(raw: msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    return _decoded(raw, dict[str, msgspec.Raw]) or {}


def _length(raw: msgspec.Raw | None) -> int | None:
    items = _decoded(raw, list[msgspec.Raw])
    return None if items is None else len(items)


def _text_member(raw: msgspec.Raw | None, key: str) -> str:
    return _decoded(_members(raw).get(key), str) or ""


def _decoded(raw: msgspec.Raw | None, kind: type[_Kind]) -> _Kind | None:
    try:
        return None if raw is None else msgspec.json.decode(raw, type=kind)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_SUMMARIZERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "agent_start": _agent_start,
    "context_update": _context_update,
    "model_request": _model_request,
    "model_response": _model_response,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "submit_result": _submit_result,
    "agent_error": _agent_error,
    "agent_end": _agent_end,
    "recovered": _recovered,
    "run_start": _run_start,
    "job_start": _job,
    "job_end": _job,
    "review": _review,
}
