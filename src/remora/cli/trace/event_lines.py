"""Prints events, either one per line or as one JSON document."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from remora.cli.app.output import fit_line, print_failure
from remora.errors import RemoraError, StreamDamaged
from remora.memory.events import PAYLOADS, Event
from remora.text import escape_line
from remora.trace.read.event_summary import summarize_event
from remora.trace.read.reader import last_event

_TYPE = max(map(len, PAYLOADS))

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")


class Columns:
    """The column widths of an event listing.

    The widths are determined by the last event, which has the largest numbers.
    """

    def __init__(self, path: Path) -> None:
        last = None
        with suppress(StreamDamaged):  # reported later, at the damaged line
            last = last_event(path)
        self._seq = max(len("SEQ"), len(str(last.seq if last else 0)))
        self._turn = max(len("TURN"), len(str(last.turn if last else 0)))

    @property
    def head(self) -> str:
        return click.style(f"{'SEQ':>{self._seq}}  {'TURN':>{self._turn}}  EVENT", bold=True)

    def line(self, event: Event) -> str:
        numbers = f"{event.seq:>{self._seq}}  {event.turn:>{self._turn}}"
        return fit_line(
            escape_line(f"{numbers}  {event.type:<{_TYPE}}  {summarize_event(event)}".rstrip())
        )


def print_items(name: str, member: str, items: Iterable[str]) -> None:
    """Print an ASCII JSON document with a list of JSON items, item by item.

    The document is `{"agent_id": name, member: [...]}`. Errors before the first item are raised.
    Later errors are added to the document as `error` and determine the exit code, because a second
    document must not follow.
    """
    between = ""
    ending = "]}"
    try:
        for item in items:
            begin, between = between or _opening_text(name, member), ","
            click.echo(begin + item)
    except RemoraError as error:
        document = {"code": error.code, "message": error.message, "hint": error.hint}
        ending = f'], "error": {json.dumps(document)}}}' if between else ""
        if not between:
            raise
        print_failure(error)
        raise click.exceptions.Exit(error.exit_code) from error
    finally:
        if ending:
            click.echo(ending if between else f"{_opening_text(name, member)}{ending}")


def _opening_text(name: str, member: str) -> str:
    return f'{{"agent_id": {json.dumps(name)}, "{member}": [\n'


def event_json(line: bytes) -> str:
    """Return a recorded line as ASCII JSON.

    Non-ASCII characters occur only in strings, where they are escaped.
    """
    return _NON_ASCII.sub(
        lambda match: json.dumps(match[0])[1:-1], line.decode("utf-8", "surrogateescape")
    )
