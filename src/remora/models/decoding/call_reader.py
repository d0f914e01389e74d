"""Reader of written calls and values, shared by the families of call formats.

A value is a string between two escape marks, a quoted string, in which lines may end, a number, a
word such as `true` or `None`, an array, or an object whose keys may be quoted. A comma may end an
array or an object. Nothing is evaluated. A number must be spelled as in JSON, so that a value never
differs from what the text says.
"""

import re
from typing import Any, NamedTuple

from remora.models.decoding.call_validation import BadCall, short_repr

MAX_CHARS = 50_000
"""Measurement: an argument `[1,1,…]` takes longest to read, 0.4 s for 50,000 characters."""
MAX_DEPTH = 32
"""Decision: deeper arguments are not meaningful, and Python's stack must not end first."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BARE = re.compile(
    r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|True|False|None)"
    r"(?![\w.])"
)
_SPACE = re.compile(r"\s*")
_BREAK = re.compile(r"[ \t]*(?:[\r\n<]|\Z)")
QUOTED = re.compile(
    r'"""(?P<a>.*?)"""'
    r"|'''(?P<b>.*?)'''"
    r'|"(?P<c>(?:[^"\\]|\\.)*+)"'
    r"|'(?P<d>(?:[^'\\]|\\.)*+)'",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_REST = re.compile(r"\s*(?:<[^<>]*>\s*)*")
_FENCE = re.compile(r"\s*```\w*\s(.*)```\s*", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BRACKETS = {"{": "}", "(": ")"}
_POSITIONAL = re.compile(
    rf"""\s*(?:[-0-9[{{]|(?:true|false|null|True|False|None|{QUOTED.pattern})\s*[,)])""", re.DOTALL
)
"""In round brackets: a value without the name of an argument."""


class Bare(str):
    """A bare number or word. Its original spelling is kept in case the argument is a string."""

    __slots__ = ()


class Written(NamedTuple):
    """The name and the arguments of a call, as the model wrote them, or their places as names."""

    name: str
    args: dict[Any, Any]


class CallReader:
    """Recursive-descent reader of a model's answer. `at` is its place in the text."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def named_call(self, escape: str = "", marks: tuple[str, ...] = ()) -> Written:
        """Read `NAME{key:value,…}`, or the same in round brackets or with `=`.

        Strings between two `escape` marks may hold any text except `marks`.
        """
        name = self._match(_NAME, "a tool's name")
        if not (self.is_next("{") or self.is_next("(")):
            raise self.unexpected("{")
        return Written(name, self._object(0, escape, marks))

    def value(self, depth: int = 0, escape: str = "", marks: tuple[str, ...] = ()) -> Any:
        """Read one value."""
        if depth > MAX_DEPTH:
            raise BadCall(f"the arguments are nested more than {MAX_DEPTH} levels deep")
        if escape and self.accept(escape):
            return self._escaped(escape, marks)
        if self.is_next("{"):
            return self._object(depth, escape, marks)
        if self.accept("["):
            return self._array(depth, escape, marks)
        if self.is_next('"') or self.is_next("'"):
            return self._quoted()
        word = self._match(_BARE, f"a value (a string needs {escape or 'quotes'})")
        return None if word in {"null", "None"} else Bare(word)

    def finish(self, *ends: str) -> None:
        """Read the end mark of a call. It may be missing if a line, a mark or the text ends."""
        if not any(self.accept(end) for end in ends) and not _BREAK.match(self.text, self.at):
            raise self.unexpected(ends[0])

    def accept(self, token: str) -> bool:
        """Read `token` if it is next."""
        if not self.is_next(token):
            return False
        self._skip_space()
        self.at += len(token)
        return True

    def is_next(self, token: str) -> bool:
        """Return True if `token` is next, after any space."""
        space = _SPACE.match(self.text, self.at)
        return self.text.startswith(token, space.end() if space else self.at)

    def unexpected(self, expected: str) -> BadCall:
        """Return the error for a place where `expected` is not."""
        there = self.text[self.at : self.at + 40]
        if not there:
            return BadCall(f"the answer ends inside a call: {expected} is missing")
        return BadCall(f"expected {expected} at {short_repr(there)}")

    def _has_item(self, close: str, found: Any) -> bool:
        if self.accept(close):
            return False
        if found and not self.accept(","):
            raise self.unexpected(",")
        return not (found and self.accept(close))

    def _object(self, depth: int, escape: str, marks: tuple[str, ...]) -> dict[Any, Any]:
        self._skip_space()
        close = _BRACKETS[self.text[self.at]]
        self.at += 1
        found: dict[Any, Any] = {}
        while self._has_item(close, found):
            if close == ")" and _POSITIONAL.match(self.text, self.at):
                found[len(found)] = self.value(depth + 1, escape, marks)
                continue
            key = self._key(escape, marks)
            if not (self.accept(":") or self.accept("=") or self.is_next("{")):
                raise self.unexpected(f"a value of {short_repr(key)}")
            value = self.value(depth + 1, escape, marks)
            if key in found and found[key] != value:
                raise BadCall(f"{key} is given twice in one call, with different values")
            found[key] = value
        return found

    def _key(self, escape: str, marks: tuple[str, ...]) -> str:
        if escape and self.accept(escape):
            return self._escaped(escape, marks)
        if self.is_next('"') or self.is_next("'"):
            return self._quoted()
        return self._match(_KEY, "an argument's name")

    def _array(self, depth: int, escape: str, marks: tuple[str, ...]) -> list[Any]:
        found: list[Any] = []
        while self._has_item("]", found):
            found.append(self.value(depth + 1, escape, marks))
        return found

    def _escaped(self, escape: str, marks: tuple[str, ...]) -> str:
        end = self.text.find(escape, self.at)
        text = self.text[self.at : end if end >= 0 else None]
        if end < 0 or any(mark in text for mark in marks):
            raise BadCall(f"unterminated string: {short_repr(text)}")
        self.at = end + len(escape)
        return text

    def _quoted(self) -> str:
        self._skip_space()
        found = QUOTED.match(self.text, self.at)
        if found is None:
            raise BadCall(f"the answer ends inside a string: {short_repr(self.text[self.at :])}")
        self.at = found.end()
        return _unescape(found[found.lastgroup or 0])

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        self._skip_space()
        if (found := pattern.match(self.text, self.at)) is None:
            raise self.unexpected(what)
        self.at = found.end()
        return found[0]

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at


def whole_value(text: str) -> Any:
    """Return the value that a text is, which may be in a fenced block.

    Raises BadCall, with the place in the text, if it is not one value.
    """
    if len(text) > MAX_CHARS:
        raise BadCall(f"more than {MAX_CHARS:,} characters")
    fenced = _FENCE.fullmatch(text)
    reader = CallReader(fenced[1] if fenced else text)
    value = reader.value()
    if not _REST.fullmatch(reader.text, reader.at):
        raise reader.unexpected("the end")
    return value


def _unescape(text: str) -> str:
    """Replace the escapes that JSON and Python share. A backslash before others is kept."""
    if "\\" not in text:
        return text
    text = _ESCAPED.sub(_meaning, text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _meaning(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape in "uxUN0123456789\n":
        raise BadCall(f"a string has the escape \\{escape.strip()}, which has two readings")
    return _ESCAPES.get(escape, escape if escape in "\\/\"'" else found[0])
