"""Text without escape sequences and line continuations, in which rules find split tokens."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remora.trace.redact.rule import Finding, Match, Matcher, Span, compile_pattern

_WORD = "[A-Za-z0-9_+/=~.:@!-]"
_HEX = "((?:2[1bdefBDEF]|3[0-9adAD]|4[0-9a-fA-F]|5[0-9afAF]|6[1-9a-fA-F]|7[0-9aeAE]))"
"""A token character in hexadecimal."""
_ESCAPES = compile_pattern(
    rf"\\+(?:x{_HEX}|u00{_HEX}|u\{{0{{0,4}}{_HEX}\}}|U000000{_HEX}|([01][0-7]{{2}})|/)"
    rf"|{_WORD}\\+\r?\n{_WORD}|{_WORD}(?:\\{{3}}|\\{{6,8}})n{_WORD}"
)
r"""Hexadecimal and octal escapes, JSON's `\/`, and line continuations within a word."""
_CONTINUATIONS = compile_pattern(rf"{_WORD}(?:\\+\r?\n|(?:\\{{3}}|\\{{6,8}})n)+{_WORD}")
_PASSES = (_ESCAPES, _CONTINUATIONS, _CONTINUATIONS)
"""A match takes the characters beside a continuation (RE2 cannot look behind), so a pass leaves
continuations beside escapes, and each second one of those that are one character apart."""
_OCTAL = 5
"""The group of an octal escape in `_ESCAPES`."""
_IS_WORD = compile_pattern(_WORD)


class Unescaped(NamedTuple):
    """Text in which escape sequences were replaced.

    For positions up to `at[i]`, the offset in the text before is `longer[i]` bytes larger.
    """

    data: bytes
    """The text."""
    at: list[int]
    """The positions of the replacements."""
    longer: list[int]
    """The bytes that are missing, before the first replacement and after each."""
    before: "Unescaped | None"
    """The text before, if it is not the original."""

    def originals(self, findings: Iterable[Finding]) -> list[Finding]:
        """Convert findings in `data` to offsets in the original text."""
        shifted = [
            Finding(start + self._shift(start), end + self._shift(end), rule)
            for start, end, rule in findings
        ]
        return self.before.originals(shifted) if self.before else shifted

    def _shift(self, place: int) -> int:
        return self.longer[bisect_left(self.at, place)]


def unescape(data: bytes) -> Iterator[Unescaped]:
    """Replace escape sequences that stand for token characters.

    Yields the text after each pass that replaced any.
    """
    before = None
    for pattern in _PASSES:
        if b"\\" in data and (text := _replace(pattern, data, before)) is not None:
            yield text
            data, before = text.data, text


def _replace(pattern: Matcher, data: bytes, before: Unescaped | None) -> Unescaped | None:
    pieces: list[bytes] = []
    at: list[int] = []
    longer = [0]
    done = 0
    for match in pattern.finditer(data):
        (start, end), spelled = _escape(match, data)
        if spelled is None:
            continue
        pieces += (data[done:start], spelled)
        at.append(start - longer[-1])
        longer.append(longer[-1] + end - start - len(spelled))
        done = end
    return Unescaped(b"".join([*pieces, data[done:]]), at, longer, before) if at else None


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
    return span, spelled if _IS_WORD.search(spelled) else None
