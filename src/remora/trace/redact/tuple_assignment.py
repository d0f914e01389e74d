"""Rule for secrets in assignments of several values: `user, password = "a", "b"`.

Targets and values are read as trees and compared from both ends, as Python does:
`(api_key, *rest) = ["…", 1]`. Lists under one name, loops and wrappers such as `SecretStr("…")` are
read in the same way. No byte is read twice, so the running time stays linear.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, looks_secret
from remora.trace.redact.rule import Matcher, Rule, Span

_BLANK = r"(?:[ \t\r\n]|\\+[rn\r\n])*"
_CONTINUED = r"(?:[ \t]|\\+[rn\r\n]\n?)*"
_NAMED = r"[a-z_\x80-\xff][a-z0-9_.\x80-\xff]*(?:\[[^\[\]\n]{0,60}\])?"
_SECRET = rf"(?:[a-z_][a-z0-9_.]*\[\\*[\"'])?[a-z0-9_.-]*{NAME}{ENDING}(?:\\*[\"']\])?"
_OPEN, _CLOSE = rf"(?:[*(\[]{_BLANK})*", rf"(?:{_BLANK}[)\]])*"
_TYPE = (
    r":[ \t]{0,4}\\*[\"']?[a-z_][a-z0-9_.| ]{0,40}(?:\[[^\n]{0,160}\])?[a-z0-9_.| ]{0,20}"
    r"\\*[\"']?[ \t]{0,4}"
)
_HEAD = (
    rf"(?i){_OPEN}(?:{_NAMED}{_CLOSE}{_BLANK},{_BLANK}{_OPEN})*{_SECRET}{_CLOSE}"
    rf"(?:{_BLANK},{_BLANK}{_OPEN}{_NAMED}{_CLOSE})*(?:{_BLANK},)?{_CLOSE}"
    rf"(?:{_CONTINUED}[:+|]?=|[ \t]+in\b)"
    rf"|(?i)({NAME}{ENDING})(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:{_TYPE}=|:|=>)"
)
_NEED = rf"(?i){NAME}{ENDING}[\"'`\\\])]{{0,9}}[ \t]{{0,16}}(?:[,:=+|\r\n\\]|in\b)"
_SECRET_NAME = re.compile(rf"(?i).*{NAME}{ENDING}".encode())
_PUBLIC_NAME = re.compile(
    rf"(?i).*(?:next|page|continuation|cancellation|cursor|public_?key)[_-]?{NAME}{ENDING}".encode()
)
_PASSWORD = re.compile(rb"(?i)pass|pwd")
_TOKENS = re.compile(rb"(?i)\Atokens?\Z")
"""Names of a lexer's tables, whose many patterns are judged as code."""
_TARGETS = re.compile(rb"[*(\[)\],]|[A-Za-z_\x80-\xff][\w.\x80-\xff-]*(?:\[[^\[\]\n]*\])?")
_SUBSCRIPT = re.compile(rb"[\w.-]+(?=\\*[\"']?\]\Z)|\A[\w.-]+\Z")
_NEWLINE = re.compile(rb"\\++[rn\r\n]")
_MOST_TOKENS = 50_000  # of a value; bounds the memory
_DEEPEST = 20
_TOKEN = re.compile(
    rb"(?P<blank>(?:[ \t]|\\{1,8}+(?:[rn]|\r?\n)|\#(?:[^\n\\]++|\\++(?!r?n))*+)++)|(?P<line>\r?\n)"
    rb"|(?:[rbufRBUF]{1,2}+(?=\\*+[\"']))?(?:"
    rb"\"((?:[^\"\\\n]++|\\.)*+)\"|'((?:[^'\\\n]++|\\.)*+)'"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)\\++\"|\\++'((?:[^'\\\n]++|\\++(?!'))*+)\\++')"
    rb"|(?P<open>(?:[\w.]*(?i:\b(?:field|secretstr|secretbytes|str|bytes|list|tuple"
    rb"|set|frozenset|dict))\("
    rb"(?:default(?:_factory)?[ \t]*=[ \t]*(?:lambda[ \t]*:)?)?)|\*{0,2}[(\[{])"
    rb"|(?P<close>[)\]}])|(?P<comma>,)"
    rb"|(?P<other>[^\s\"'\\()\[\]{},;#]++"
    rb"(?:[(\[](?:[^()\[\]{}\"'\\\n]|\"[^\"\\\n]*+\"|'[^'\\\n]*+'){0,200}+[)\]])*+)"
)


@dataclass(slots=True)
class _Value:
    """An element of a display: its string literals, or its own elements."""

    literals: list[Span] = field(default_factory=list)
    items: "list[_Value] | None" = None
    is_other: bool = False
    has_braces: bool = False
    may_open: bool = True

    @property
    def unwrapped(self) -> "_Value":
        """The display in brackets, if the value is nothing else."""
        inner = self.items
        return self if inner is None or len(inner) != 1 or inner[0].items is None else inner[0]

    def every_literal(self) -> Iterator[Span]:
        yield from self.literals
        for item in self.items or ():
            yield from item.every_literal()


_Target = bytes | list["_Target"]


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield each value for which the name at the same position indicates a secret."""
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        if start < done or data.startswith((b"=", b"\r\n", b"\n"), end):
            continue
        is_loop = data.endswith((b"in", b"IN"), start, end)
        name = data[slice(*match.span(1))]
        target = name or _target(data[start:end])
        values, done = _values(data, end, is_single=isinstance(target, bytes))
        rows = values.items or [values] if is_loop else [values]
        found = {span for row in rows for span in _secrets(data, target, row)}
        yield from sorted(found)


def _target(head: bytes) -> _Target:
    """Return the names of a head as a tree. A star is part of the name after it."""
    root: list[_Target] = []
    open_lists, star, name = [root], b"", b""
    is_list = False
    for token in _TARGETS.findall(_NEWLINE.sub(b" ", head.removesuffix(b" in"))):
        if token in (b"(", b"["):
            inner = open_lists[-1]
            if len(open_lists) <= _DEEPEST:  # names below are read as if they were here
                inner = []
                open_lists[-1].append(inner)
            open_lists.append(inner)
        elif token in (b")", b"]"):
            del open_lists[max(1, len(open_lists) - 1) :]
        elif token in (b"*", b","):
            star = token[:1] if token == b"*" else b""
            is_list |= token == b"," and len(open_lists) == 1
        else:
            star, name = b"", star + token
            open_lists[-1].append(name)
    if len(open_lists) > 1:  # keyword arguments of a call
        return name
    return root[0] if len(root) == 1 and not is_list else root


def _values(data: bytes, start: int, *, is_single: bool) -> tuple[_Value, int]:
    """Return the value that begins at `start`, and its end.

    It ends with its line or bracket, with a call that has calls as arguments, and for a single name
    with a comma.
    """
    root = _Value(items=[_Value()])
    frames, place, element = [root], start, start
    for _ in range(_MOST_TOKENS):
        if (found := _TOKEN.match(data, place)) is None:
            break
        kind, items = found.lastgroup, frames[-1].items or []
        last = items[-1]
        if kind == "open" and not last.may_open:
            break
        if kind == "open" and len(frames) > _DEEPEST:
            break
        is_end = kind in ("close", "line") or (kind == "comma" and is_single)
        if len(frames) == 1 and is_end:
            break
        if len(frames) == 1 and element > start and found[0][:1] == b"=":  # the next assignment
            items.pop()
            place = element
            break
        element = found.end() if kind == "comma" and len(frames) == 1 else element
        _take(found, frames, last)
        place = found.end()
    return (root if len(root.items or ()) > 1 else (root.items or [root])[0]), place


def _take(found: re.Match[bytes], frames: list[_Value], last: _Value) -> None:
    match found.lastgroup:
        case "open":
            last.has_braces, last.may_open = found[0].endswith(b"{"), False
            last.items = last.items or []
            last.items.append(_Value())
            frames.append(last)
        case "close":
            frames.pop()
        case "comma":
            (frames[-1].items or []).append(_Value())
        case "other" if frames[-1].has_braces and found[0].endswith(b":"):  # after a key
            last.literals.clear()
            (frames[-1].items or []).append(_Value())
        case "other":
            last.is_other, last.may_open = True, found[0] in (b"or", b"else")
        case None:
            last.may_open = False
            last.literals.append(Span(*found.span(found.lastindex or 0)))


def _secrets(data: bytes, target: _Target, value: _Value) -> Iterator[Span]:
    """Yield the literals that look like secrets and are assigned to names that indicate them."""
    if isinstance(target, bytes):
        found = _SUBSCRIPT.search(target.lstrip(b"*"))
        name = found[0] if found else target
        if not _SECRET_NAME.fullmatch(name) or _PUBLIC_NAME.fullmatch(name):
            return
        password = _PASSWORD.search(name) is not None
        literals = [*value.every_literal()]
        quoted = len(literals) == 1 or not _TOKENS.search(name)
        for span in literals:
            text = data[span.start : span.end]
            if len(text) >= MIN_LENGTH and looks_secret(text, password=password, quoted=quoted):
                yield span
        return
    for inner, item in _pairs(target, value.unwrapped if len(target) > 1 else value):
        yield from _secrets(data, inner, item)


def _pairs(targets: list[_Target], value: _Value) -> Iterator[tuple[_Target, _Value]]:
    """Yield each target with its value. A target with a star takes what the others leave."""
    values = [value] if value.items is None else [*value.items]
    if values and values[-1] == _Value():  # after a comma at the end
        del values[-1]
    stars = (at for at, one in enumerate(targets) if isinstance(one, bytes) and one[:1] == b"*")
    star = next(stars, len(targets))
    after = len(targets) - star - 1
    if after < 0 or len(values) < star + after:
        yield from zip(targets, values, strict=False)
        return
    yield from zip(targets[:star], values, strict=False)
    last = len(values) - after
    yield from ((targets[star], one) for one in values[star:last])
    yield from zip(targets[star + 1 :], values[last:], strict=True)


TUPLE_ASSIGNMENT = Rule("assignment", _HEAD, needs=_NEED, find=_find)
