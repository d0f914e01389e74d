"""Validation of candidate actions, and comparison with the calls that a model makes."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.redaction import placeholder_in_args
from remora.chat import ToolCall, ToolSchema
from remora.memory.canonical import canonical
from remora.memory.delta import candidate
from remora.memory.packet import Candidate
from remora.models.decoding.call_validation import BadCall, find_tool, validate_call
from remora.tools.tool import CandidateAction

_MOST_LOOKED_AT = 200
"""Candidates of a script that are validated, so that a turn does not wait. Decision."""
_MOST_OFFERED = 20
"""Candidates that a packet has room for. Decision."""


def as_candidates(actions: Any, base: bytes | None) -> tuple[tuple[Candidate, ...], str]:
    """Convert the result of a candidates script, a list of `{tool, args, reason}`, to candidates.

    Actions are dropped if their arguments contain a placeholder for a secret that is not in `base`.
    If all are dropped or the list is invalid, the reason is also returned, and otherwise an empty
    string.
    """
    found: list[Candidate] = []
    refusal = ""
    try:
        listed = msgspec.convert(actions or [], list[CandidateAction])
    except msgspec.ValidationError as error:
        return (), f"the result of the candidates script is not a list of actions: {error}"
    for action in listed:
        args = action.get("args") or {}
        if why := placeholder_in_args(args, base):
            refusal = refusal or why
            continue
        reason, slots = action.get("reason") or "", action.get("slots")
        found.append(candidate(action["tool"], args, reason, slots))
    return tuple(found), "" if found else refusal


def valid_candidates(
    candidates: Sequence[Candidate], tools: Sequence[ToolSchema], *, complete: bool
) -> tuple[tuple[Candidate, ...], str]:
    """Return the valid candidates, and the error message for the first invalid one.

    A candidate is valid if its tool is granted and accepts its arguments. If `complete` is true,
    all required arguments must also be present. Of candidates for the same call only the first is
    returned, because a choice between them changes nothing.
    """
    valid: dict[tuple[str, bytes], Candidate] = {}
    problem = ""
    for offer in candidates[:_MOST_LOOKED_AT]:
        fault = _candidate_error(offer, tools, whole=complete)
        problem = problem or fault
        if not fault:
            valid.setdefault((offer.tool, canonical(offer.args)), offer)
    return tuple(islice(valid.values(), _MOST_OFFERED)), problem


def _candidate_error(offer: Candidate, tools: Sequence[ToolSchema], *, whole: bool) -> str:
    try:
        tool = find_tool(offer.tool, tools)
        if not whole:
            tool = replace(tool, parameters={**tool.parameters, "required": []})
        validate_call(ToolCall(tool=offer.tool, args=offer.args), tool)
    except BadCall as bad:
        return f"not a valid candidate: {bad.message}"
    return ""


def is_complete(candidate: Candidate, tools: Sequence[ToolSchema]) -> bool:
    """Return True if the candidate has all required arguments."""
    schema = next((tool for tool in tools if tool.name == candidate.tool), None)
    return schema is not None and all(
        name in candidate.args for name in schema.parameters.get("required", [])
    )


def matches_candidate(call: ToolCall, candidate: Candidate) -> bool:
    """Return True if the call uses the candidate's tool and includes all of its arguments."""
    return call.tool == candidate.tool and all(
        name in call.args and canonical(call.args[name]) == canonical(value)
        for name, value in candidate.args.items()
    )
