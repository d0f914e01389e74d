"""The tab *Raw | Packet*: the tool's output beside the packet that the model saw."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from remora.errors import NotFound, RemoraError, StreamDamaged
from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket, packet_json
from remora.runs.diagnosis.packet_parts import dropped_parts
from remora.runs.records.packet_diff import packet_changes
from remora.web.agent_records import TurnRecord

_PLACE = re.compile(r"[^\s:]+\.pym:(\d{1,9}): ")
_LINES = 10
"""Lines of a script that are shown before the one that failed, and after it."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_APART = ("hub_context", "hub_freshness")
"""Parts that are shown under Facts of the Hub."""


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


def outputs(turn: TurnRecord) -> dict[str, Any]:
    """Return the raw outputs of the turn, the scripts that failed, and the results of checks."""
    results = turn.data(turn.events.results)
    return {
        "results": [result | {"host_calls": [*_host_calls(result)]} for result in results],
        "scripts": [*_failed_scripts(turn, results)],
        "checks": [
            check for made in turn.data(turn.events.submissions) for check in made.get("checks", ())
        ],
        "problem": "",
        "changes": None,
        "other": None,
        "packet": None,
        "is_seen": bool(turn.events.requests),
    }


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


def packet(turn: TurnRecord, other: int | None) -> dict[str, Any]:
    """Return the raw outputs, the packet, and how it differs from the packet of another turn."""
    found = outputs(turn) | {"other": other}
    try:
        shown = turn.packet()
        if other is not None:
            found["changes"] = packet_changes(turn.packet(other), shown)
    except (StreamDamaged, NotFound) as error:
        return found | {"problem": error.with_hint, "packet": {}, "facts": [], "dropped": []}
    document = packet_json(shown)
    parts = {
        key: value for key, value in document.items() if value not in _EMPTY and key not in _APART
    }
    dropped = dropped_parts(turn.packet(shown=False), shown)
    return found | {"packet": parts, "facts": _facts(shown), "dropped": dropped}


def _facts(shown: DecisionPacket) -> list[dict[str, Any]]:
    """Return the Hub's facts about each node, with how fresh they were."""
    return [
        {"node": node, "facts": facts, "freshness": shown.hub_freshness.get(node)}
        for node, facts in shown.hub_context.items()
    ]
