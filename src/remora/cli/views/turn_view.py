"""Shows a single turn: its packet, its raw output and its decider."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any
from unicodedata import east_asian_width

import click
import msgspec

from remora.cli.app.output import plain_lines
from remora.runs.records.event_summary import call_text, decision_text
from remora.text import count, escape_line

_LINES = 120
_TWO_COLUMN_WIDTH = 160
"""Minimum columns for packet and output side by side."""
_GAP = " │ "


def turn_lines(document: dict[str, Any], width: int | None = None) -> Iterator[str]:
    """Yield the output lines of `trace show --turn N` for a terminal of `width` columns."""
    yield click.style(f"turn {document['turn']} of {document['agent_id']}", bold=True)
    for event in document["events"]:
        yield from _event(event)
    packet, raw = _packet(document), _raw(document["raw_output"])
    yield ""
    if width is not None and width >= _TWO_COLUMN_WIDTH and raw:
        yield from _side_by_side(packet, raw, (width - len(_GAP)) // 2)
        return
    yield from _styled(packet)
    if raw:
        yield ""
        yield from _styled(raw)


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def _packet(document: dict[str, Any]) -> list[str]:
    import yaml

    packet = {key: value for key, value in document["packet"].items() if value not in _EMPTY}
    tokens = document["prompt_tokens"]
    size = len(msgspec.json.encode(packet))
    asked = f"{count(tokens, 'token')} as sent" if tokens else "no model was used"
    title = f"── packet of this turn: {count(size, 'byte')} of JSON, {asked} ──"
    text = yaml.safe_dump(packet, sort_keys=False, allow_unicode=True, width=100)
    return [title, *_text(text)]


def _raw(raw: Any) -> list[str]:
    if raw is None:
        return []
    text = raw if isinstance(raw, str) else msgspec.json.format(msgspec.json.encode(raw)).decode()
    title = f"── raw output of the tool: {count(len(text.encode()), 'byte')} ──"
    return [title, *_text(text)]


def _event(event: dict[str, Any]) -> Iterator[str]:
    data = event["data"]
    if event["type"] == "tool_call":
        yield escape_line(f"{call_text(data)}, decided by {decision_text(data)}")
    elif event["type"] == "tool_result":
        yield escape_line(f"{data.get('outcome')} in {data.get('duration_ms')} ms")
    elif event["type"] == "agent_error":
        yield escape_line(f"{data.get('kind')}: {data.get('message')}")


def _text(text: str) -> Iterator[str]:
    lines = plain_lines(text.rstrip("\n"))
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {count(len(lines) - _LINES, 'more line')}; use --json or --raw to show them all"


def _styled(lines: list[str]) -> Iterator[str]:
    yield click.style(lines[0], fg="cyan")
    yield from lines[1:]


def _side_by_side(left: list[str], right: list[str], width: int) -> Iterator[str]:
    """Yield the rows of two columns. Each column is `width` wide, and long lines are wrapped."""
    columns = [
        [part for line in lines for part in _fold_line(line, width)] for lines in (left, right)
    ]
    for row, (one, other) in enumerate(zip_longest(*columns, fillvalue="")):
        padded = one + " " * (width - _display_width(one))
        text = f"{padded}{_GAP}{other}".rstrip()
        yield click.style(text, fg="cyan") if row == 0 else text


def _fold_line(line: str, width: int) -> Iterator[str]:
    part, taken = "", 0
    for character in line.expandtabs(4):
        wide = _display_width(character)
        if taken + wide > width:
            yield part
            part, taken = "", 0
        part, taken = part + character, taken + wide
    yield part


def _display_width(text: str) -> int:
    """Return the number of columns that text occupies. East Asian characters occupy two columns."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
