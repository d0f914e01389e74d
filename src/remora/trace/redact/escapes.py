"""Text without escapes, continued lines and joints of literals, in which rules find split tokens."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remora.trace.redact.rule import Finding, Match, Matcher, Span, compile_pattern

_WORD = "[A-Za-z0-9_+/=~.:@!-]"
_HEX = "((?:2[1bdefBDEF]|3[0-9adAD]|4[0-9a-fA-F]|5[0-9afAF]|6[1-9a-fA-F]|7[0-9aeAE]))"
"""A token character in hexadecimal."""
_CONTINUATION = rf"{_WORD}(?:\\+\r?\n|(?:\\{{3}}|\\{{6,8}})n)+{_WORD}"
_ESCAPES = compile_pattern(
    rf"\\+(?:x{_HEX}|u00{_HEX}|u\{{0{{0,4}}{_HEX}\}}|U000000{_HEX}|([01][0-7]{{2}})|/)"
    rf"|{_CONTINUATION}"
)
r"""Hexadecimal and octal escapes, JSON's `\/`, and line continuations within a word."""
_PASSES = (_ESCAPES, *[compile_pattern(_CONTINUATION)] * 2)
"""A match takes the characters beside a continuation (RE2 cannot look behind), so a pass leaves
continuations beside escapes, and each second one of those that are one character apart. If a pass
replaces nothing, the next does not either."""
_OCTAL = 5
"""The group of an octal escape in `_ESCAPES`."""
_IS_WORD = compile_pattern(_WORD)

_QUOTE = r"\\*[\"'`]"
_MARGIN = r"(?:[>+ \t]|-[ \t]{3})?[ \t]*(?:[0-9]{1,6}[ \t]?[\t:|][ \t]*)?"
"""The margin of a line in a diff or in a listing."""


def _joint(separator: str = "") -> str:
    """Return the pattern of what is between the texts of two literals, which may be empty ones."""
    gap = rf"(?:[ \t()+{separator}]|(?:#[^\n\\]*)?(?:\\*\r?\n|(?:\\+r)?\\+n){_MARGIN})"
    empty = rf"(?:{_QUOTE}{_QUOTE}{gap}+)*"
    return rf"(?:{_QUOTE}){{1,3}}{gap}*{empty}[rRbBuUfF]{{0,2}}{_QUOTE}"


_CHAIN, _CHAIN_OF_ITEMS = (
    rf"{_WORD}{joint}(?:{_WORD}+{joint})*{_WORD}" for joint in (_joint(), _joint(","))
)
"""Joints with the text between them, and a character on either side."""
_LIST = r"(?:\\*[\"']){2}\.join\((?:\s|\\+[rn])*[\[(]([^\])]*)"
_CHAIN_OR_LIST = compile_pattern(rf"{_CHAIN}|{_LIST}")
_IN_LIST, _JOINT = compile_pattern(_CHAIN_OF_ITEMS), compile_pattern(_joint(","))
_REACH, _REACH_BEHIND = 300, 5_000
"""Bytes before a joint, and at most of the line behind it, that are read again (decision)."""
_Edit = tuple[int, int, bytes]
"""The start and the end of a part of a text, and what replaces it."""


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
    for pattern in _PASSES if b"\\" in data else ():
        if not (edits := list(_escapes(pattern, data))):
            break
        before = _edited(data, edits, before)
        data = before.data
        yield before
    if edits := list(_joints(data)):
        yield _edited(data, edits, before)


def _edited(data: bytes, edits: Iterable[_Edit], before: Unescaped | None) -> Unescaped:
    pieces: list[bytes] = []
    at: list[int] = []
    longer = [0]
    done = 0
    for start, end, spelled in edits:
        pieces += (data[done:start], spelled)
        at.append(start - longer[-1])
        longer.append(longer[-1] + end - start - len(spelled))
        done = end
    return Unescaped(b"".join([*pieces, data[done:]]), at, longer, before)


def _chains(data: bytes) -> Iterator[Span]:
    for match in _CHAIN_OR_LIST.finditer(data):
        start, end = match.span(1)
        if start < 0:
            yield Span(*match.span())
        else:
            for chain in _IN_LIST.finditer(data[start:end]):
                yield Span(*(start + place for place in chain.span()))


def _joints(data: bytes) -> Iterator[_Edit]:
    """Yield the joints of literals that token characters surround, and the text far from them."""
    kept = 0
    for start, end in _chains(data):
        if (cut := start - _REACH) > kept:
            yield kept, max(cut, data.find(b"\n", cut, start)), b"\n"
        for joint in _JOINT.finditer(data[start:end]):
            first, last = joint.span()
            yield start + first, start + last, b""
        stop = data.find(b"\n", end, end + _REACH_BEHIND)
        kept = stop if stop >= 0 else min(end + _REACH_BEHIND, len(data))
    if kept:
        yield kept, len(data), b""


def _escapes(pattern: Matcher, data: bytes) -> Iterator[_Edit]:
    for match in pattern.finditer(data):
        (start, end), spelled = _escape(match, data)
        if spelled is not None:
            yield start, end, spelled


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
