"""Replacement of escape sequences, so that rules also find secrets that contain them."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from remora.trace.redact.found_spans import Finding
from remora.trace.redact.rule import Match, Span, compile_pattern

_WORD = "[A-Za-z0-9_+/=~.:@!-]"
_HEX = "((?:2[1bdefBDEF]|3[0-9adAD]|4[0-9a-fA-F]|5[0-9afAF]|6[1-9a-fA-F]|7[0-9aeAE]))"
"""A token character in hexadecimal."""
_ESCAPES = compile_pattern(
    rf"\\+(?:x{_HEX}|u00{_HEX}|u\{{0{{0,4}}{_HEX}\}}|U000000{_HEX}|([01][0-7]{{2}})|/)"
    rf"|{_WORD}\\+\r?\n{_WORD}|{_WORD}(?:\\{{3}}|\\{{6,8}})n{_WORD}"
)
r"""Hexadecimal and octal escapes, JSON's `\/`, and line continuations within a word."""
_OCTAL = 5
_IS_WORD = re.compile(_WORD.encode())


class Unescaped(NamedTuple):
    """Text in which escape sequences were replaced.

    For positions up to `at[i]`, the offset in the original text is `longer[i]` bytes larger.
    """

    data: bytes
    at: list[int]
    longer: list[int]

    def originals(self, findings: Iterable[Finding]) -> list[Finding]:
        """Convert findings in `data` to offsets in the original text."""
        return [
            Finding(start + self._shift(start), end + self._shift(end), rule)
            for start, end, rule in findings
        ]

    def _shift(self, place: int) -> int:
        return self.longer[bisect_left(self.at, place)]


def unescape(data: bytes) -> Unescaped | None:
    """Replace escape sequences that stand for token characters. Return None if there are none."""
    if b"\\" not in data:
        return None
    pieces: list[bytes] = []
    at: list[int] = []
    longer = [0]
    done = 0
    for match in _ESCAPES.finditer(data):
        (start, end), spelled = _escape(match, data)
        if spelled is None:
            continue
        pieces += (data[done:start], spelled)
        at.append(start - longer[-1])
        longer.append(longer[-1] + end - start - len(spelled))
        done = end
    return Unescaped(b"".join([*pieces, data[done:]]), at, longer) if at else None


def _escape(match: Match, data: bytes) -> tuple[Span, bytes | None]:
    """Return the span of an escape sequence, and its replacement.

    The replacement is empty for a line continuation, and None for a character that cannot be part
    of a token.
    """
    span = Span(*match.span())
    if not data.startswith(b"\\", span.start):
        return Span(span.start + 1, span.end - 1), b""
    if data.endswith(b"/", span.start, span.end):
        return span, b"/"
    group = next(group for group in range(1, _OCTAL + 1) if match.span(group)[0] >= 0)
    start, end = match.span(group)
    spelled = bytes([int(data[start:end], 8 if group == _OCTAL else 16)])
    return span, spelled if _IS_WORD.match(spelled) else None
