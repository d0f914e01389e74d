"""A turn as a conversation: the packet, the answer, the call, its result, and what was lost."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from remora.errors import NotFound, RemoraError
from remora.ids import unescape_path
from remora.memory.canonical import json_text
from remora.memory.context import estimate_tokens
from remora.memory.packet import DecisionPacket, packet_json
from remora.runs.diagnosis.agent_history import errors_in
from remora.runs.diagnosis.packet_parts import dropped_parts
from remora.runs.diagnosis.why_line import lost_errors
from remora.runs.records.packet_diff import PacketChange, packet_changes
from remora.web.agent_records import TurnRecord
from remora.workspaces.copy.changes import diff

_PLACE = re.compile(r"[^\s:]+\.pym:(\d{1,9}): ")
_LINES = 10
"""Lines of a script that are shown before the one that failed, and after it."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_APART = ("hub_context", "hub_freshness")
"""Parts that are shown under Facts of the Hub."""
_KNOWN = ("/turn", "/candidate_actions", "/hub_", "/omitted")
"""Beginnings of parts whose change is shown otherwise, or says nothing."""


class ShownCall(NamedTuple):
    """A host call as text, such as `read_text("a.py")`, with its error or its result."""

    text: str
    error: Any
    result: Any
    ms: Any


class FailedScript(NamedTuple):
    """The numbered lines of a tool's script around the one that failed."""

    tool: str
    lines: list[tuple[int, str]]
    failing: int


def turn_values(turn: TurnRecord) -> dict[str, Any]:
    """Return a turn as a conversation. Its packet is left out if the packets were not read."""
    results = turn.data(turn.events.results)
    calls = turn.data(step.event for step in turn.events.calls)
    call = calls[-1] if calls else {}
    answers = turn.data(step.reply for step in turn.events.requests if step.reply is not None)
    starts = [turn.events.start] if turn.events.start is not None else []
    found: dict[str, Any] = {
        "turn": turn.turn,
        "row": turn.row,
        "goal": [(start.get("packet") or {}).get("goal", "") for start in turn.data(starts)],
        "answers": [text for answer in answers if (text := answer.get("text"))],
        "call": call,
        "results": [_result(turn, result) for result in results],
        "scripts": [*_failed_scripts(turn, results)],
        "checks": [
            check for made in turn.data(turn.events.submissions) for check in made.get("checks", ())
        ],
        "has_ended": turn.events.errors or not any(result.get("error") for result in results),
        "problem": "",
        "packet": None,
        "candidates": (),
    }
    if turn.agent.decisions is not None and (turn.events.requests or turn.events.calls):
        try:
            found |= _packet(turn)
        except RemoraError as error:
            found["problem"] = error.with_hint
    return found


def _packet(turn: TurnRecord) -> dict[str, Any]:
    """Return the packet of a turn: what changed since the turn before, and what it left out."""
    shown, changes = turn.agent.packet(turn.turn), list[PacketChange]()
    with suppress(NotFound):  # the turn before is not shown with this one
        changes = packet_changes(turn.agent.packet(turn.turn - 1), shown)
    dropped = dropped_parts(turn.agent.packet(turn.turn, shown=False), shown)
    return {
        "packet": {
            key: value
            for key, value in packet_json(shown).items()
            if value not in _EMPTY and key not in _APART
        },
        "facts": _facts(shown),
        "changes": [change for change in changes if not change.path.startswith(_KNOWN)],
        "dropped": dropped,
        "dropped_tokens": sum(estimate_tokens(part.text) for part in dropped),
        "candidates": shown.candidate_actions,
    }


def _result(turn: TurnRecord, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with its host calls, its files, and the errors that the next packet lost."""
    raw, changes = result.get("raw_output"), result.get("changes")
    return result | {
        "summary": raw.get("summary") if isinstance(raw, dict) else None,
        "lost": _lost(turn, raw),
        "host_calls": [*_host_calls(result)],
        "files": [_file(turn, change) for change in changes or () if isinstance(change, dict)],
    }


def _lost(turn: TurnRecord, raw: Any) -> list[str]:
    """Return the errors in an output that the packet of the next turn does not have.

    Only what a model decided on counts: rules read the files and not the packet.
    """
    if turn.agent.decisions is not None and (reported := errors_in(raw)):
        with suppress(RemoraError):  # there is no next turn, or its packet cannot be read
            if turn.agent.turn(turn.turn + 1).events.requests:
                return lost_errors(reported, turn.agent.packet(turn.turn + 1))
    return []


def _file(turn: TurnRecord, change: dict[str, Any]) -> dict[str, Any]:
    text = problem = ""
    try:
        before, after = (_content(turn, change.get(key)) for key in ("before", "after"))
        path = unescape_path(str(change.get("path")))
        text = diff(path, before, after, mode=change.get("mode"))
    except RemoraError as error:
        problem = error.with_hint
    return {"path": change.get("path"), "diff": text, "problem": problem}


def _content(turn: TurnRecord, digest: str | None) -> bytes | None:
    return None if digest is None else turn.content(digest)


def _host_calls(result: dict[str, Any]) -> Iterator[ShownCall]:
    """Yield the host calls of a script, which may be anything in a stream of another program."""
    for call in result.get("host_calls") or []:
        if not isinstance(call, dict):
            continue
        args, kwargs = call.get("args"), call.get("kwargs")
        given = [_json(value) for value in args] if isinstance(args, list) else []
        if isinstance(kwargs, dict):
            given += [f"{name}={_json(value)}" for name, value in kwargs.items()]
        text = f"{call.get('name')}({', '.join(given)})"
        yield ShownCall(text, call.get("error"), call.get("result"), call.get("duration_ms"))


def _json(value: Any) -> str:
    try:
        return json_text(value)
    except (ValueError, RecursionError):
        return "…"


def _failed_scripts(turn: TurnRecord, results: list[dict[str, Any]]) -> Iterator[FailedScript]:
    """Yield the scripts of tools that failed, as they were when they ran."""
    for result in results:
        digest, error = result.get("script_sha256"), str(result.get("error") or "")
        if not error or not isinstance(digest, str):
            continue
        with suppress(RemoraError):  # the script was removed since
            text = turn.content(digest).decode("utf-8", "replace")
            at = _PLACE.match(error)
            failing = int(at[1]) if at is not None else 1
            first = max(1, failing - _LINES)
            lines = text.rstrip("\n").split("\n")[first - 1 : failing + _LINES]
            yield FailedScript(str(result.get("tool")), [*enumerate(lines, first)], failing)


def _facts(shown: DecisionPacket) -> list[dict[str, Any]]:
    """Return the Hub's facts about each node, with how fresh they were."""
    return [
        {"node": node, "facts": facts, "freshness": shown.hub_freshness.get(node)}
        for node, facts in shown.hub_context.items()
    ]
