"""Markdown transcript of a stream. Recorded text is escaped."""

import re
from collections.abc import Iterable, Iterator

from remora.memory.events import Event
from remora.text import escape_line
from remora.trace.read.transcript import Quotation, event_parts

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~^$:/@=])")
_HTML = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_FENCES = re.compile(r"`{3,}")


def markdown(events: Iterable[Event]) -> Iterator[str]:
    """Yield the lines of the transcript, without newlines.

    Each turn has a heading. Remarks are paragraphs, and quotations are fenced.
    """
    turn = 0
    for event in events:
        if event.turn != turn:
            turn = event.turn
            yield f"## Turn {turn}"
            yield ""
        for part in event_parts(event):
            yield from _fenced(part) if isinstance(part, Quotation) else (escaped(part.strip()), "")


def escaped(text: str) -> str:
    """Return `text` as one line of Markdown that is displayed literally."""
    shown = escape_line(text).replace("\t", " ")
    return _SPECIAL.sub(r"\\\1", shown).translate(_HTML)


def _fenced(quoted: Quotation) -> Iterator[str]:
    """Yield a quotation as a code block. Its fence is longer than any fence in the text."""
    lines = [escape_line(line) for line in quoted.text.split("\n")]
    longest = max((len(run) for line in lines for run in _FENCES.findall(line)), default=2)
    fence = "`" * (longest + 1)
    yield f"{escaped(quoted.title)}:"
    yield ""
    yield f"{fence}text"
    yield from lines
    yield fence
    yield ""
