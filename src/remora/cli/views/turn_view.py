"""Shows a single turn: its packet, its raw output and its decider."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from remora.cli.app.output import plain_lines
from remora.text import count, escape_line
from remora.trace.read.event_summary import decision_line

_LINES = 120


def turn_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the output lines of `trace show --turn N`."""
    yield click.style(f"turn {document['turn']} of {document['agent_id']}", bold=True)
    texts = (decision_line(event["type"], event["data"]) for event in document["events"])
    yield from map(escape_line, filter(None, texts))
    packet, raw = _packet_lines(document), _raw_lines(document["raw_output"])
    yield ""
    yield from packet
    if raw:
        yield ""
        yield from raw


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def _packet_lines(document: dict[str, Any]) -> list[str]:
    import yaml

    packet = {key: value for key, value in document["packet"].items() if value not in _EMPTY}
    tokens = document["prompt_tokens"]
    size = len(msgspec.json.encode(packet))
    asked = f"{count(tokens, 'token')} as sent" if tokens else "no model was used"
    title = f"── packet of this turn: {count(size, 'byte')} of JSON, {asked} ──"
    text = yaml.safe_dump(packet, sort_keys=False, allow_unicode=True, width=100)
    return [click.style(title, fg="cyan"), *_first_lines(text)]


def _raw_lines(raw: Any) -> list[str]:
    if raw is None:
        return []
    text = raw if isinstance(raw, str) else msgspec.json.format(msgspec.json.encode(raw)).decode()
    title = f"── raw output of the tool: {count(len(text.encode()), 'byte')} ──"
    return [click.style(title, fg="cyan"), *_first_lines(text)]


def _first_lines(text: str) -> Iterator[str]:
    lines = plain_lines(text.rstrip("\n"))
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {count(len(lines) - _LINES, 'more line')}; use --json or --raw to show them all"
