"""Texts for which CPython's parser needs minutes or gigabytes.

Its time for an f-string grows with the length times the number of parts (before Python 3.12): one of
0.9 MB with 300,000 parts takes 43 s. Its memory for the dotted name of an import grows in the same
way: 64 KB of `import a.a.a` take 1 GB. Its time for a name with combining characters grows with
their number squared, because it sorts them: 40,000 take 2.5 s. Everything else that was tried is
linear. None of these can be interrupted, so such a text must not be parsed.
"""

import re
from collections.abc import Callable, Iterator
from unicodedata import combining

_F_STRING_COST = 10**10
"""Characters times parts of all f-strings; takes 2 s."""
_DOTTED_COST = 10**8
"""Characters times dots of all imported names; takes 50 MB."""
_COMBINING_COST = 10**9
"""Squared numbers of the combining characters in a row; takes 2 s."""
_LITERAL = re.compile(
    r"#[^\r\n]*+"
    r'|([a-z]{0,2})(?:"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^\\']++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^\\"\r\n]++|\\(?:\r\n|.))*+"?'
    r"|'(?:[^\\'\r\n]++|\\(?:\r\n|.))*+'?)",
    re.DOTALL | re.IGNORECASE,
)
"""A comment, or a string literal with its prefix. An unterminated literal ends where it is refused."""
_LETTER = r"[0-9A-Za-z_\x80-\U0010ffff]"
_SPACE = r"[ \t\f\\\r\n]*+"
_DOTTED = re.compile(
    rf"(?:import|from|,)[ \t\f\\\r\n.]*+({_LETTER}++(?:{_SPACE}\.{_SPACE}{_LETTER}++)++)"
)
"""A dotted name that may be a part of an import."""

_NO_LETTERS = re.compile(r"[^\w\x00-\x7f]{1000,}+")
"""Characters in a row that may be combining ones. Shorter rows are cheap, however many there are."""


def why_not_parsed(text: str) -> str:
    """Return why a text is too expensive to parse, or an empty string. Takes linear time."""
    if _exceeds(_F_STRING_COST, text, "{", _f_strings):
        return "its f-strings have too many parts for Python's parser"
    if _exceeds(_DOTTED_COST, text, ".", _dotted_names):
        return "its imports have names that are too long for Python's parser"
    rows = (sum(map(bool, map(combining, row))) for row in _NO_LETTERS.findall(text))
    if sum(number * number for number in rows) > _COMBINING_COST:
        return "it has too many combining characters in a row for Python's parser"
    return ""


def _exceeds(limit: int, text: str, mark: str, parts: Callable[[str], Iterator[str]]) -> bool:
    """Return True if length times number of marks, summed over the parts of a text, is too large."""
    if len(text) * text.count(mark) <= limit:
        return False
    return sum(len(part) * part.count(mark) for part in parts(text)) > limit


def _f_strings(text: str) -> Iterator[str]:
    return (literal[0] for literal in _LITERAL.finditer(text) if "f" in (literal[1] or "").lower())


def _dotted_names(text: str) -> Iterator[str]:
    return (name[1] for name in _DOTTED.finditer(text))
