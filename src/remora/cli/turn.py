"""One turn for people: the packet beside the raw output, and who decided."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec
import yaml

from remora.cli.gist import call_text, chosen_text
from remora.cli.output import count, plain, plain_lines

_LINES = 120


def turn_lines(document: dict[str, Any]) -> Iterator[str]:
    """From the document of `trace show --turn N`."""
    yield click.style(f"turn {document['turn']} of {document['agent_id']}", bold=True)
    for event in document["events"]:
        yield from _event(event)
    packet = {key: value for key, value in document["packet"].items() if value not in _EMPTY}
    tokens = document["prompt_tokens"]
    size = len(msgspec.json.encode(packet))
    asked = f"{count(tokens, 'token')} as sent" if tokens else "no model was asked"
    yield _title(f"the packet of this decision: {count(size, 'byte')} of JSON, {asked}")
    yield from _text(yaml.safe_dump(packet, sort_keys=False, allow_unicode=True, width=100))
    raw = document["raw_output"]
    if raw is None:
        return
    text = raw if isinstance(raw, str) else msgspec.json.format(msgspec.json.encode(raw)).decode()
    yield _title(f"the tool's raw output: {count(len(text.encode()), 'byte')}")
    yield from _text(text)


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def _event(event: dict[str, Any]) -> Iterator[str]:
    data = event["data"]
    if event["type"] == "tool_call":
        yield plain(f"{call_text(data)}, decided by {chosen_text(data)}")
    elif event["type"] == "tool_result":
        yield plain(f"{data.get('outcome')} in {data.get('duration_ms')} ms")
    elif event["type"] == "agent_error":
        yield plain(f"{data.get('kind')}: {data.get('message')}")


def _title(text: str) -> str:
    return "\n" + click.style(f"── {text} ──", fg="cyan")


def _text(text: str) -> Iterator[str]:
    lines = plain_lines(text.rstrip("\n"))
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {count(len(lines) - _LINES, 'more line')}; --json and --raw have all of it"
