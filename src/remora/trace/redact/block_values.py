"""Rule for secrets in the lines after `password: |`, `passwords:` or an opening triple quote.

No line is read more than twice, so the running time stays linear.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, tee
from typing import NamedTuple

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, PASSWORD, looks_secret
from remora.trace.redact.rule import Match, Matcher, Rule, Span

_LINE_END = r"[ \t]{0,8}\\{0,8}(?:\r?\n|r?\\{1,8}n)"
_COMMENT = r"(?:[ \t]+#[^\n\\]*)?"
_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|[:=])[ \t(]{0,8}"
    r"(?:[rbuf]{0,2}((?:\\{0,8}\"){3}|(?:\\{0,8}'){3})\\{0,8}"
    rf"|([|>])[+-]?[1-9]?[+-]?{_COMMENT})|:{_COMMENT}){_LINE_END}"
)
"""The first group is a triple quote, and the second one the start of a YAML block.

If neither matched, a YAML list or a value may follow.
"""
_END = re.compile(rb"(?:\\{0,8}+\"){3}|(?:\\{0,8}+'){3}")
_BREAK = re.compile(rb"\r?\n|(?<!\\)\\++(?:(?:r\\++)?n|\r?\n)")
"""The end of a line. Every head ends with one, so that no line contains more than one head."""
_SETTING = re.compile(rb"[A-Za-z_-]+[ \t]*[:=](?!=)|\[[^\]]*\]\Z")
"""Lines of a block to skip. `name: value` is checked under its name; `[section]` is not a value."""
_MARGIN = b" \t+-|>"
_DASH = re.compile(rb"[ \t+-]*-[ \t]+\Z")
_ITEM = re.compile(rb"(\\*[\"'])?([^\s\"'`<>()\[\]{},;&|\\]++)(?=[ \t]*(?:\\*[\"']|#|\Z))")
_WORD_BEFORE = re.compile(rb"(?<!\\)[^\s\\+-][ \t]+[\w.-]*\Z")
"""What is before a name in code or in a sentence, such as `if password:`."""


class _Line(NamedTuple):
    """A line without its margin of indentation and diff markers.

    `is_literal` is False if the text has no quotes and may be code.
    """

    margin: bytes
    text: Span
    is_literal: bool = True


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the lines of each block that look like secrets."""
    done = 0
    matches, later = tee(heads.finditer(data))
    stops = chain((each.span()[0] for each in islice(later, 1, None)), [len(data)])
    for match, stop in zip(matches, stops, strict=False):
        start, end = match.span()
        if start < done:
            continue
        done = end
        for _, span, is_literal in _values(data, match, stop):
            done = span.end
            value = data[span.start : span.end]
            if len(value) < MIN_LENGTH or _SETTING.match(value):
                continue
            password = PASSWORD.search(data, start, end) is not None
            if looks_secret(value, password=password, quoted=is_literal or password):
                yield span


def _values(data: bytes, head: Match, stop: int) -> Iterable[_Line]:
    """Return what a head names. A list ends at the next head, `stop`, so it is read only once."""
    start, end = head.span()
    if head.span(1)[0] >= 0:
        quote = _END.search(data, end)
        return _lines(data, end, quote.start() if quote else len(data))
    if head.span(2)[0] >= 0:
        return _block(_lines(data, end, len(data)))
    if data[end : end + 1].isalnum():  # neither a list nor a margin
        return ()
    return _items(
        data,
        _lines(data, end, stop),
        is_key=not _WORD_BEFORE.search(data[max(0, start - 40) : start]),
    )


def _block(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Yield the lines of a YAML block, which ends before a line with a smaller margin."""
    margin = None
    for line in lines:
        if margin is not None and (margin == 0 or len(line.margin) < margin):
            return
        margin = len(line.margin) if margin is None else margin
        yield line


def _items(data: bytes, lines: Iterator[_Line], *, is_key: bool) -> Iterator[_Line]:
    """Yield the texts of a YAML list, or the value in the line after a key.

    `is_key` is False if the head may be code or a sentence. Then only a list is read.
    """
    for line in lines:
        if data.startswith(b"#", line.text.start):
            continue
        is_item = _DASH.match(line.margin) is not None
        if not is_item and not (is_key and line.margin.endswith((b" ", b"\t"))):
            return
        if (item := _ITEM.match(data, *line.text)) is not None:
            yield _Line(line.margin, Span(*item.span(2)), is_literal=item[1] is not None)
        if not is_item:
            return
        is_key = False


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
