"""Rule for secrets in the lines after `password: |`, `passwords:` or an opening triple quote."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, looks_secret
from remora.trace.redact.rule import Match, Matcher, Rule, Span

_LINE_END = r"[ \t]{0,8}\\{0,8}(?:\r?\n|r?\\{1,8}n)"
_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|[:=])[ \t(]{0,8}"
    r"(?:[rbuf]{0,2}((?:\\{0,8}\"){3}|(?:\\{0,8}'){3})\\{0,8}|([|>])[+-]?)|:)" + _LINE_END
)
"""The first group is a triple quote, and the second one the start of a YAML block.

If neither matched, a YAML list may follow.
"""
_REACH = 4096  # maximum bytes of a block that are searched; bounds the time

_END = re.compile(rb"(?:\\{0,8}+\"){3}|(?:\\{0,8}+'){3}")
_BREAK = re.compile(rb"\r?\n|(?<!\\)\\{1,8}+(?:r\\{1,8}+)?n|\\{1,8}+\r?\n")
_SETTING = re.compile(rb"[A-Za-z_-]+[ \t]*[:=](?!=)|\[[^\]]*\]\Z")
"""Lines of a block to skip. `name: value` is checked under its name; `[section]` is not a value."""
_MARGIN = b" \t+-|>"
_DASH = re.compile(rb"[ \t+-]*-[ \t]+\Z")
_ITEM = re.compile(rb"(\\*[\"'])?([^\s\"'`<>()\[\]{},;&|\\]++)(?=[ \t]*(?:\\*[\"']|#|\Z))")
_PASSWORD = re.compile(rb"(?i)pass|pwd")


class _Line(NamedTuple):
    """A line without its margin of indentation and diff markers."""

    margin: bytes
    text: Span
    is_literal: bool = True


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the lines of each block that look like secrets."""
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        if start < done:
            continue
        password = _PASSWORD.search(data, start, end) is not None
        done = end
        for _, span, is_literal in _values(data, match):
            done = span.end
            value = data[span.start : span.end]
            judged = len(value) >= MIN_LENGTH and not _SETTING.match(value)
            if judged and looks_secret(value, password=password, quoted=is_literal or password):
                yield span


def _values(data: bytes, head: Match) -> Iterator[_Line]:
    start = head.span()[1]
    stop = min(len(data), start + _REACH)
    if head.span(1)[0] >= 0:
        end = _END.search(data, start, stop)
        return _lines(data, start, end.start() if end else stop)
    is_block = head.span(2)[0] >= 0
    return _block(_lines(data, start, stop)) if is_block else _items(data, start, stop)


def _block(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Yield the lines of a YAML block, which ends before a line with a smaller margin."""
    margin = None
    for line in lines:
        if margin is not None and (margin == 0 or len(line.margin) < margin):
            return
        margin = len(line.margin) if margin is None else margin
        yield line


def _items(data: bytes, start: int, stop: int) -> Iterator[_Line]:
    """Yield the texts of a YAML list, without what may be code in the lines of a diff."""
    for line in _lines(data, start, stop):
        if not _DASH.match(line.margin):
            return
        if (item := _ITEM.match(data, *line.text)) is not None:
            yield _Line(line.margin, Span(*item.span(2)), is_literal=item[1] is not None)


def _lines(data: bytes, start: int, end: int) -> Iterator[_Line]:
    while start < end:
        found = _BREAK.search(data, start, end)
        stop = found.start() if found else end
        line = data[start:stop]
        if inner := line.strip(_MARGIN):
            first = line.index(inner)
            yield _Line(line[:first], Span(start + first, start + first + len(inner)))
        start = found.end() if found else end


BLOCK_VALUE = Rule("assignment", _HEAD, needs=_HEAD, find=_find)
