"""Rule for secrets in the lines after `password: |` or an opening triple quote."""

import re
from collections.abc import Iterator

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, looks_secret
from remora.trace.redact.rule import Matcher, Rule, Span

_LINE_END = r"[ \t]{0,8}\\{0,8}(?:\r?\n|r?\\{1,8}n)"
_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?::[ \t]{{0,4}}[a-z_][a-z0-9_.\[\]| ]{{0,40}}=|[:=])"
    r"[ \t(]{0,8}(?:[rbuf]{0,2}(?:(?:\\{0,8}\"){3}|(?:\\{0,8}'){3})\\{0,8}|[|>][+-]?)" + _LINE_END
)
_REACH = 4096  # maximum bytes of a block that are searched; bounds the time

_END = re.compile(rb"(?:\\{0,8}+\"){3}|(?:\\{0,8}+'){3}")
_BREAK = re.compile(rb"\r?\n|(?<!\\)\\{1,8}+(?:r\\{1,8}+)?n|\\{1,8}+\r?\n")
_SETTING = re.compile(rb"[A-Za-z_-]+[ \t]*[:=](?!=)|\[[^\]]*\]\Z")
"""Lines of a block to skip. `name: value` is checked under its name; `[section]` is not a value."""
_MARGIN = b" \t+-|>"
_PASSWORD = re.compile(rb"(?i)pass|pwd")


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the lines of each block that look like secrets.

    In a YAML block, only the first line is checked.
    """
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        if start < done:
            continue
        password = _PASSWORD.search(data, start, end) is not None
        quoted = _END.search(data, start, end) is not None
        done = _block_end(data, end, quoted=quoted)
        for line in _lines(data, end, done):
            value = data[line.start : line.end]
            judged = len(value) >= MIN_LENGTH and not _SETTING.match(value)
            if judged and looks_secret(value, password=password, quoted=True):
                yield line
            if not quoted:
                done = line.end
                break


def _block_end(data: bytes, start: int, *, quoted: bool) -> int:
    if not quoted:
        return min(len(data), start + _REACH)
    found = _END.search(data, start, start + _REACH)
    return found.start() if found else min(len(data), start + _REACH)


def _lines(data: bytes, start: int, end: int) -> Iterator[Span]:
    """Yield each line without its indentation and diff markers."""
    while start < end:
        found = _BREAK.search(data, start, end)
        stop = found.start() if found else end
        line = data[start:stop]
        if inner := line.strip(_MARGIN):
            first = start + line.index(inner)
            yield Span(first, first + len(inner))
        start = found.end() if found else end


BLOCK_VALUE = Rule("assignment", _HEAD, needs=_HEAD, find=_find)
