"""A turn as a conversation: the packet, the answer, the call, its result, and what was lost."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from remora.errors import NotFound, RemoraError
from remora.ids import unescape_path
from remora.memory.canonical import json_text
from remora.memory.context import estimate_tokens
from remora.memory.excerpts import numbered_lines
from remora.memory.packet import DecisionPacket, Excerpt, packet_json
from remora.runs.diagnosis.agent_history import errors_in
from remora.runs.diagnosis.packet_parts import dropped_parts
from remora.runs.diagnosis.why_line import lost_errors
from remora.runs.records.packet_diff import packet_changes
from remora.web.agent_records import TurnRecord
from remora.workspaces.copy.changes import diff

_PLACE = re.compile(r"[^\s:]+\.pym:(\d{1,9}): ")
_LINES = 10
"""Lines of a script that are shown before the one that failed, and after it."""
_SAID = re.compile(r"/(node_s|state_s|diagnostics|recent|knowledge|last_|error_|extensions)")
"""Beginnings of parts whose change is shown."""
_INDEX, _MORE = re.compile(r"s?/\d+$"), re.compile(r"and \d+ more")


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
    shown, before = turn.agent.packet(turn.turn), DecisionPacket()
    with suppress(NotFound):  # the turn before is not shown with this one
        before = turn.agent.packet(turn.turn - 1) if turn.turn > 1 else before
    dropped = dropped_parts(turn.agent.packet(turn.turn, shown=False), shown)
    unlisted = _unlisted(turn, *map(str, shown.diagnostics))
    return {
        "packet": {key: part for key, part in packet_json(shown).items() if part},
        "is_first": before == DecisionPacket(),
        "changes": [
            (_INDEX.sub("", change.path)[1:].replace("/", ": ").replace("_", " "), change)
            for change in packet_changes(before, shown)
            if _SAID.match(change.path)
            and not (unlisted and _MORE.fullmatch(str(change.after or change.before)))
        ],
        "code": [] if before.excerpt == shown.excerpt else [*_code(before.excerpt, shown.excerpt)],
        "unlisted": unlisted,
        "dropped": dropped,
        "dropped_tokens": sum(estimate_tokens(part.text) for part in dropped),
        "candidates": shown.candidate_actions,
    }


def _code(before: Excerpt | None, shown: Excerpt | None) -> Iterator[tuple[int, str, bool]]:
    """Yield the numbered lines of code in a packet, with True for those that the last one lacked."""
    known = before.text.split("\n") if before else None
    for number, line in numbered_lines(shown.lines[0], shown.text) if shown else ():
        yield number, line, known is not None and line not in known


def _unlisted(turn: TurnRecord, *diagnostics: str) -> list[str]:
    """Return the texts that a packet only counts, as in `and 9 more`, if the record has them all."""
    *listed, more = diagnostics or ("",)
    if _MORE.fullmatch(more):
        with suppress(RemoraError, RecursionError):
            for near in (turn, turn.agent.turn(turn.turn - 1)):
                for texts in _text_lists(near.data(near.events.events)):
                    rest = texts[len(listed) :]
                    if listed + rest == texts and more == f"and {len(rest)} more":
                        return rest
    return []


def _text_lists(value: Any) -> Iterator[list[Any]]:
    """Yield the lists in a JSON value, of objects their `text`."""
    items = [*value.values()] if isinstance(value, dict) else value
    if isinstance(items, list):
        yield [item.get("text") if isinstance(item, dict) else item for item in items]
        for item in items:
            yield from _text_lists(item)


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
