"""A packet as short lines of text, which use fewer tokens than JSON.

Texts of the project cannot begin a line that looks like one of the packet's own: code has numbers,
other texts have one line, and one that begins a line is in quotes if it looks like `Suggestions:`.
"""

import re
from collections.abc import Iterator
from typing import Any

from remora.memory.excerpts import left_out, numbered_lines
from remora.memory.packet import SUMMARY_LIMIT, DecisionPacket
from remora.memory.prompt.base import json_line
from remora.text import count, escape_line

_RECALLABLE = {"actions": "action", "knowledge": "fact", "diagnostics": "finding"}
"""Omitted parts that the model can see again, and what they are called here."""
_OWN_LINE = re.compile(
    r"\s*(?:(?:Goal|Target|Facts|Hub|Extensions|Code|Done|Findings|Not shown|Now|Error|Suggestions"
    r"|History):|Turn \d+ of )"
)


def packet_lines(packet: DecisionPacket) -> str:
    """Return the packet as lines of text. The most variable part comes last."""
    return "\n".join(
        [
            *target_lines(packet),
            *_given(packet),
            *_section("Done", _done(packet)),
            *_findings(packet),
            *_state(packet),
            *candidate_lines(packet),
        ]
    )


def memory_lines(packet: DecisionPacket) -> Iterator[str]:
    """Yield the facts, the code and the findings."""
    yield from _given(packet)
    yield from _findings(packet)


def _given(packet: DecisionPacket) -> Iterator[str]:
    yield from fact_section(packet)
    yield from _section("Hub", _hub(packet))
    yield from _section(
        "Extensions", (f"{_first_on_line(k)}: {_text(v)}" for k, v in packet.extensions.items())
    )
    yield from code_section(packet)


def fact_section(packet: DecisionPacket) -> Iterator[str]:
    """Yield what is known, under a title."""
    yield from _section("Facts", _facts(packet))


def code_section(packet: DecisionPacket, *, numbered: bool = True) -> Iterator[str]:
    """Yield the excerpt under a title. Each line has its number, or `|` alone."""
    yield from _section("Code", _code(packet, numbered=numbered))


def _findings(packet: DecisionPacket) -> Iterator[str]:
    yield from _section("Findings", map(_first_on_line, packet.diagnostics))


def _section(title: str, lines: Any) -> Iterator[str]:
    body = list(lines)
    if body:
        yield f"{title}:"
        yield from body


def target_lines(packet: DecisionPacket) -> Iterator[str]:
    """Yield the goal, the target and the target's summary."""
    if packet.goal:
        yield f"Goal: {escape_line(packet.goal)}"
    node = " ".join(filter(None, (packet.operation, packet.node_type, packet.node_id)))
    if node:
        yield f"Target: {escape_line(node)}"
    if packet.node_summary:
        yield _first_on_line(packet.node_summary)


def _facts(packet: DecisionPacket) -> Iterator[str]:
    for key, fact in packet.knowledge.items():
        yield f"{_first_on_line(key)}: {_text(fact.value)}"


def _hub(packet: DecisionPacket) -> Iterator[str]:
    for node, facts in packet.hub_context.items():
        if facts:
            yield f"{'target' if node == packet.node_id else _first_on_line(node)}: {_text(facts)}"


def _code(packet: DecisionPacket, *, numbered: bool) -> Iterator[str]:
    if packet.excerpt is None:
        return
    path, (first, last) = packet.excerpt.path, packet.excerpt.lines
    if f":{path}:" not in packet.node_id:
        yield f"{_first_on_line(path)} {first}-{last}"
    for number, line in numbered_lines(first, packet.excerpt.text):
        mark = f"{number}| " if numbered else "| "
        yield line if left_out(line) else f"{mark}{escape_line(line)}"


def _done(packet: DecisionPacket) -> Iterator[str]:
    for action in packet.recent_actions:
        times = f" x{action.count}" if action.count > 1 else ""
        outcome = "" if action.outcome == "success" else f"{action.outcome}: "
        call = one_call(action.tool, action.args)
        is_told = action is packet.recent_actions[-1] and _has_error(action.summary, packet)
        summary = "error" if is_told else f"{outcome}{escape_line(action.summary)}"
        yield f"{action.turn}. {call}{times} -> {summary}"


def _has_error(text: str, packet: DecisionPacket) -> bool:
    """Return True if a text contains the last error, or as much of it as a summary can."""
    return bool(packet.last_error) and str(packet.last_error)[: SUMMARY_LIMIT - 1] in text


def _state(packet: DecisionPacket) -> Iterator[str]:
    omitted = [count(n, _RECALLABLE[k]) for k, n in packet.omitted.items() if k in _RECALLABLE]
    if omitted:
        yield "Not shown: " + ", ".join(omitted)
    if packet.state_summary:
        yield f"Now: {escape_line(packet.state_summary)}"
    if not _has_error(packet.state_summary, packet):
        yield from error_line(packet)
    yield from turn_line(packet)


def error_line(packet: DecisionPacket) -> Iterator[str]:
    """Yield the last error, if there is one."""
    if packet.last_error:
        yield f"Error: {escape_line(packet.last_error)}"


def turn_line(packet: DecisionPacket) -> Iterator[str]:
    """Yield the number of the turn, unless it is the first context."""
    if packet.turn:
        yield f"Turn {packet.turn} of {packet.constraints.max_turns}"


def candidate_lines(packet: DecisionPacket) -> Iterator[str]:
    """Yield the candidate actions, which are suggestions: a model may call any tool."""
    yield from _section("Suggestions", _candidates(packet))


def _candidates(packet: DecisionPacket) -> Iterator[str]:
    for candidate in packet.candidate_actions:
        reason = f" - {escape_line(candidate.reason)}" if candidate.reason else ""
        yield f"- {one_call(candidate.tool, candidate.args)}{reason}"


def one_call(tool: str, args: dict[str, Any]) -> str:
    """Return a call on one line."""
    given = (f"{escape_line(name)}={json_line(value)}" for name, value in args.items())
    return f"{escape_line(tool)}({', '.join(given)})"


def _text(value: Any) -> str:
    """Return a value on one line, so that data cannot start a new line."""
    return value if isinstance(value, str) and value.isprintable() else json_line(value)


def _first_on_line(value: Any) -> str:
    """Return a value on one line, in quotes if it looks like a line of the packet's own."""
    text = _text(value)
    return json_line(text) if _OWN_LINE.match(text) else text


def marked_lines(text: str) -> str:
    """Return a text with `| ` before each line that looks like a line of the packet's own."""
    lines = text.splitlines(keepends=True)
    return "".join(f"| {line}" if _OWN_LINE.match(line) else line for line in lines)
