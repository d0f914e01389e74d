"""Colors of diffs on a terminal, with the words of a line that changed."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

import click

from remora.text import escape_line

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_COLORS = {"+": "green", "-": "red"}
_MOST_WORDS = 200
"""Words and separators of a line that are compared. Ten times as many take seconds."""
_LEAST_ALIKE = 0.5
"""Lines that share fewer words are not versions of each other (decision)."""


def diff_lines(text: str) -> list[str]:
    """Split a diff into lines, at `\\n` only, and color them."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [shown for kind, group in groupby(lines, _kind) for shown in _colored(kind, [*group])]


def _kind(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "file"
    return {"@": "hunk", "+": "edit", "-": "edit"}.get(line[:1], "context")


def _colored(kind: str, lines: Sequence[str]) -> Iterator[str]:
    shown = [escape_line(line.removesuffix("\r")) for line in lines]
    if kind == "edit":
        yield from _edited(shown)
    elif kind == "context":
        yield from shown
    else:
        styles = {"fg": "cyan"} if kind == "hunk" else {"bold": True}
        yield from (click.style(line, **styles) for line in shown)


def _edited(lines: Sequence[str]) -> Iterator[str]:
    """Color removed and added lines. Where a line has another version, its words are compared."""
    removed = [line for line in lines if line.startswith("-")]
    added = [line for line in lines if line.startswith("+")]
    other = dict(zip(removed, added, strict=False)) if len(removed) == len(added) else {}
    other |= {line: old for old, line in other.items()}
    return (_with_words(line, other.get(line, "")) for line in lines)


def _with_words(line: str, other: str) -> str:
    """Color a line, and underline the words that another version of it does not have."""
    words, others = _WORD.findall(line[1:]), _WORD.findall(other[1:])
    color = _COLORS[line[0]]
    match = SequenceMatcher(None, words, others, autojunk=False)
    is_compared = other and max(len(words), len(others)) <= _MOST_WORDS
    if not is_compared or match.ratio() < _LEAST_ALIKE:
        return click.style(line, fg=color)
    parts = [click.style(line[0], fg=color)]
    for tag, start, end, _, _ in match.get_opcodes():
        is_other = tag != "equal" or None
        part = "".join(words[start:end])
        parts += [click.style(part, fg=color, bold=is_other, underline=is_other)] if part else []
    return "".join(parts)
