"""A packet as short lines of text, which use fewer tokens than JSON.

Texts of the project cannot begin a line that looks like one of the packet's own: code has numbers,
other texts have one line, and one that begins a line is in quotes if it looks like `Suggestions:`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from remora.chat import ToolSchema
from remora.memory.excerpts import left_out, numbered_lines
from remora.memory.packet import SUMMARY_LIMIT, TURN_TOOLS, Action, Candidate, DecisionPacket
from remora.memory.prompt.base import json_line, open_arguments, signature
from remora.text import count, escape_line

_RECALLABLE = {"actions": "action", "knowledge": "fact", "diagnostics": "finding"}
"""Omitted parts that the model can see again, and what they are called here."""
COUNTS = "findings"
"""The fact that reports count. Beside findings, it says nothing new."""
_SHORT = 60
"""Most characters of an argument to show for a call that succeeded. Decision: less than a line."""
_OWN_LINE = re.compile(
    r"\s*(?:(?:Goal|Target|Facts|Hub|Extensions|Code|Done|Findings|Not shown|Now|Error|Suggestions"
    r"|History):|Turn \d+ of )"
)


def packet_lines(packet: DecisionPacket) -> str:
    """Return the packet as lines of text."""
    return _ordered(packet, _done(packet), candidate_lines(packet))


def _ordered(packet: DecisionPacket, done: Iterable[str], suggested: Iterable[str]) -> str:
    """Return the lines of a packet. The most variable part comes last."""
    sections = target_lines(packet), _given(packet), _section("Done", done), _findings(packet)
    return "\n".join(chain(*sections, _state(packet), suggested))


def is_fixed(tool: ToolSchema) -> bool:
    """Return True if a tool is declared in all turns."""
    return not tool.only_suggested and tool.name not in TURN_TOOLS


def plain_lines(packet: DecisionPacket, tools: Sequence[ToolSchema], *, declared: bool) -> str:
    """Return the packet as lines that say each thing once, and in words what was done.

    Small models repeat a call that they read. Tools that help in this turn end the suggestions,
    unless all tools are declared: the system message is the same in all turns.
    """
    reasons = [candidate.reason for candidate in packet.candidate_actions]
    summaries = [action.summary for action in packet.recent_actions]
    left = [text for text in packet.diagnostics if not _is_part(str(text), reasons)]
    facts = packet.knowledge.items()
    shown = replace(
        packet,
        diagnostics=tuple(left),
        knowledge={k: fact for k, fact in facts if k != COUNTS or not packet.diagnostics},
        state_summary="" if _is_part(packet.state_summary, summaries) else packet.state_summary,
    )
    lines = [_suggestion(candidate, packet, tools) for candidate in packet.candidate_actions]
    lines += [f"- {signature(tool)}" for tool in tools if tool.name in TURN_TOOLS and not declared]
    return _ordered(shown, _done_in_words(packet), _section("Suggestions", lines))


def _is_part(text: str, texts: Iterable[str]) -> bool:
    return any(text in whole for whole in texts)


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


def fact_section(packet: DecisionPacket, without: Collection[str] = ()) -> Iterator[str]:
    """Yield what is known, under a title, except for the facts whose keys are in `without`."""
    yield from _section("Facts", _facts(packet, without))


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


def _facts(packet: DecisionPacket, without: Collection[str]) -> Iterator[str]:
    for key, fact in packet.knowledge.items():
        if key not in without:
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
        call = one_call(action.tool, action.args)
        yield f"{action.turn}. {call}{times} -> {_outcome(action, packet)}"


def _outcome(action: Action, packet: DecisionPacket) -> str:
    if action is packet.recent_actions[-1] and _has_error(action.summary, packet):
        return "error"
    outcome = "" if action.outcome == "success" else f"{action.outcome}: "
    return f"{outcome}{escape_line(action.summary)}"


def _done_in_words(packet: DecisionPacket) -> Iterator[str]:
    """Yield the actions. Of calls that succeeded, arguments are left out that say nothing new."""
    for action in packet.recent_actions:
        args = [(name.replace("_", " "), json_line(value)) for name, value in action.args.items()]
        if action.outcome != "error":
            args = [
                a for a in args if len(a[1]) <= _SHORT and a[1].strip('"') not in action.summary
            ]
        words = ", ".join([action.tool.replace("_", " "), *map(" ".join, args)])
        times = f" x{action.count}" if action.count > 1 else ""
        yield f"{action.turn}. {escape_line(words)}{times}: {_outcome(action, packet)}"


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
    offers = packet.candidate_actions
    lines = (f"- {one_call(offer.tool, offer.args)}{_reason(offer)}" for offer in offers)
    yield from _section("Suggestions", lines)


def _reason(candidate: Candidate) -> str:
    return f" - {escape_line(candidate.reason)}" if candidate.reason else ""


def _suggestion(candidate: Candidate, packet: DecisionPacket, tools: Sequence[ToolSchema]) -> str:
    """Return a suggestion with its open arguments: the required ones, or all of a new tool."""
    tool = next((known for known in tools if known.name == candidate.tool), ToolSchema(name=""))
    asked = [a for a in open_arguments(tool, candidate.args) if "?" not in a or not is_fixed(tool)]
    given = (f"{escape_line(k)}={_argument(v, packet)}" for k, v in candidate.args.items())
    words = ", ".join([*given, *asked])
    return f"- {escape_line(candidate.tool)}({words}){_reason(candidate)}"


def _argument(value: Any, packet: DecisionPacket) -> str:
    """Return an argument. Of a finding that is shown elsewhere, its code and line are enough."""
    findings = [text for text in packet.diagnostics if isinstance(text, str)]
    name = str(value).partition(": ")[0]
    same = [text for text in findings if text.startswith(f"{name}: ")]
    return json_line(f"{name}…" if same == [value] else value)


def one_call(tool: str, args: dict[str, Any], unset: Sequence[str] = ()) -> str:
    """Return a call on one line, with the names of arguments that have no value yet."""
    given = [f"{escape_line(name)}={json_line(value)}" for name, value in args.items()]
    return f"{escape_line(tool)}({', '.join([*given, *map(escape_line, unset)])})"


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
