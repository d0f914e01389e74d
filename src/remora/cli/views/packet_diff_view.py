"""Shows the differences between two packets as text."""

from collections.abc import Iterator, Sequence
from difflib import ndiff
from typing import Any

import click

from remora.memory.canonical import json_text
from remora.runs.records.packet_diff import PacketChange
from remora.text import clip, count, escape_line
from remora.trace.read.event_summary import call_text

_WIDTH = 160
_COLORS = {"+": "green", "-": "red", "~": "yellow"}
_SIGNS = {"add": "+", "remove": "-", "change": "~"}
_HIDDEN_SECTIONS = ("turn",)
"""Sections already shown in the title."""


def change_lines(between: dict[str, Any], changes: Sequence[PacketChange]) -> Iterator[str]:
    """Yield the output lines of `trace diff`, grouped by section in the order of the packet."""
    shown = [change for change in changes if _section(change) not in _HIDDEN_SECTIONS]
    title = f"turn {between['from']} → turn {between['to']} of {between['agent_id']}"
    yield click.style(f"{title}: {count(len(shown), 'change')}", bold=True)
    last = ""
    for change in shown:
        section = _section(change)
        if section != last:
            yield click.style(section.replace("_", " "), fg="cyan")
            last = section
        yield from _change_lines(section, change)


def _change_lines(section: str, change: PacketChange) -> Iterator[str]:
    sign = _SIGNS[change.op]
    if section == "excerpt":
        yield from _excerpt_lines(change.before, change.after)
    elif section in _ITEMS:
        if change.op == "change":
            yield _signed("-", _ITEMS[section](change.before))
            yield _signed("+", _ITEMS[section](change.after))
        else:
            item = change.after if change.op == "add" else change.before
            yield _signed(sign, _ITEMS[section](item))
    else:
        key = "/".join(change.path.split("/")[2:]).replace("~1", "/").replace("~0", "~")
        yield _signed(sign, _change_text(key, change))


def _change_text(name: str, change: PacketChange) -> str:
    """Return a change as `key: before → after`.

    The key is left out if the whole field changed, because the heading already contains its name.
    """
    before, after = _value_text(change.before), _value_text(change.after)
    value = {"add": after, "remove": before}.get(change.op, f"{before} → {after}")
    if change.op == "change" and before == after:  # a repeated fact
        value = f"{after}, again in turn {change.after['source_turn']}"
    return f"{name}: {value}" if name else value


def _excerpt_lines(before: Any, after: Any) -> Iterator[str]:
    """Yield the files and line ranges of two excerpts, and the differences between their text."""
    for sign, excerpt in (("-", before), ("+", after)):
        if excerpt:
            first, last = excerpt["lines"]
            yield _signed(sign, f"{excerpt['path']} {first}-{last}")
    texts = [excerpt["text"].split("\n") if excerpt else [] for excerpt in (before, after)]
    for line in ndiff(*texts):
        if line[0] in "+-":
            yield _signed(line[0], f"  {line[2:]}")


def _action(item: dict[str, Any]) -> str:
    times = f" x{item['count']}" if item["count"] > 1 else ""
    return f"{item['turn']}. {call_text(item)} → {item['outcome']}{times}: {item['summary']}"


def _candidate(item: dict[str, Any]) -> str:
    return f"{call_text(item)} - {item['reason']}" if item["reason"] else call_text(item)


def _value_text(value: Any) -> str:
    """Return a value, or a fact's value, as text: strings unchanged, other values as JSON."""
    if isinstance(value, dict) and set(value) == {"value", "source_turn"}:
        value = value["value"]
    if value is None or value == "":
        return "nothing"
    return value if isinstance(value, str) else json_text(value)


_ITEMS = {"recent_actions": _action, "candidate_actions": _candidate, "diagnostics": _value_text}


def _section(change: PacketChange) -> str:
    return change.path.split("/")[1]


def _signed(sign: str, text: str) -> str:
    return click.style(f"  {sign} {escape_line(clip(text, _WIDTH))}", fg=_COLORS[sign])
