"""An event in one line, for listings; total for every event that could be decoded."""

from collections.abc import Callable
from typing import Any

import msgspec

from remora.memory.events import Event
from remora.memory.packet import clip

_WIDTH = 100


def gist(event: Event) -> str:
    """What happened, in a few words; empty for types that say it all by their name."""
    data = msgspec.json.decode(event.data)
    tell = _TELLERS.get(event.type)
    if tell is None or not isinstance(data, dict):
        return ""
    return clip(tell(data), _WIDTH)


def call_text(data: dict[str, Any]) -> str:
    """`apply_fix(code="safe")`."""
    args = data.get("args")
    named = args.items() if isinstance(args, dict) else ()
    return f"{data.get('tool')}({', '.join(f'{key}={_json(value)}' for key, value in named)})"


def chosen_text(data: dict[str, Any]) -> str:
    """Who decided, and between how many."""
    scores, choice = data.get("scores"), data.get("choice")
    between = ""
    if isinstance(scores, list) and isinstance(choice, int) and scores:
        between = f", candidate {choice + 1} of {len(scores)}"
    return f"{data.get('decided_by')}{between}"


def _agent_start(data: dict[str, Any]) -> str:
    model, packet = data.get("model"), data.get("packet")
    named = model.get("name") if isinstance(model, dict) else None
    goal = packet.get("goal") if isinstance(packet, dict) else ""
    return f"{named}: {goal}"


def _context_update(data: dict[str, Any]) -> str:
    return f"{data.get('source')}" + (f": {data['error']}" if data.get("error") else "")


def _model_request(data: dict[str, Any]) -> str:
    packet = str(data.get("packet_sha256"))[:12]
    return f"{data.get('prompt_tokens')} tokens, {data.get('renderer')}, packet {packet}"


def _model_response(data: dict[str, Any]) -> str:
    return _json(data.get("text"))


def _tool_call(data: dict[str, Any]) -> str:
    return f"{call_text(data)} by {chosen_text(data)}"


def _tool_result(data: dict[str, Any]) -> str:
    changes = data.get("changes")
    changed = f", {len(changes)} changed" if isinstance(changes, list) and changes else ""
    error = f": {data['error']}" if data.get("error") else ""
    return f"{data.get('tool')}: {data.get('outcome')}{changed}{error}"


def _submit_result(data: dict[str, Any]) -> str:
    return "verified" if data.get("verified") else "not verified"


def _agent_error(data: dict[str, Any]) -> str:
    return f"{data.get('kind')}: {data.get('message')}"


def _agent_end(data: dict[str, Any]) -> str:
    return f"{data.get('status')}, {data.get('stop_reason')}"


def _recovered(data: dict[str, Any]) -> str:
    return f"{data.get('bytes')} bytes of a torn line in {data.get('quarantine')}"


def _run_start(data: dict[str, Any]) -> str:
    plan = data.get("plan")
    jobs = plan.get("jobs") if isinstance(plan, dict) else None
    return f"{len(jobs)} jobs" if isinstance(jobs, list) else ""


def _job(data: dict[str, Any]) -> str:
    return " ".join(str(data[key]) for key in ("agent_id", "node_id", "status") if key in data)


def _review(data: dict[str, Any]) -> str:
    feedback = f": {data['feedback']}" if data.get("feedback") else ""
    return f"{data.get('agent_id')} {data.get('verdict')}{feedback}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TELLERS: dict[str, Callable[[dict[str, Any]], str]] = {
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
