"""Rule for secrets in tuple assignments: `user, password = "a", "b"`."""

import re
from collections.abc import Iterator

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, looks_secret
from remora.trace.redact.rule import Matcher, Rule, Span

_TARGET = r"[a-z_][a-z0-9_.]*"
_HEAD = rf"(?i){_TARGET}(?:[ \t]*,[ \t]*{_TARGET})+[ \t]*[)\]}}]?[ \t]*:?="
_SECRET_NAME = re.compile(rf"(?i).*{NAME}{ENDING}".encode())
_PASSWORD = re.compile(rb"(?i)pass|pwd")
_NAMES = re.compile(rb"[A-Za-z_][A-Za-z0-9_.]*")
_REACH = 1024
_OPENS = (b"(", b"[", b"{")
_NEED = rf"(?i){NAME}{ENDING}[ \t]{{0,4}}(?:,|[)\]}}]?[ \t]{{0,4}}:?=)"
_BEFORE = re.compile(rb"(?:[ \t,(\[]|\r?\n|\\{1,8}+r?n)*+(?:[rbufRBUF]{1,2}+(?=[\"']))?")
_VALUE = re.compile(
    rb"\"((?:[^\"\\\n]++|\\.)*+)\"|'((?:[^'\\\n]++|\\.)*+)'"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)\\++\"|\\++'((?:[^'\\\n]++|\\++(?!'))*+)\\++'"
    rb"|([^\s,()\[\]{}\"'\\]++)"
)


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield each value for which the name at the same position indicates a secret."""
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        if start < done:
            continue
        names = _NAMES.findall(data[start:end])
        done = end
        if not any(_SECRET_NAME.fullmatch(name) for name in names):
            continue
        for name in names:
            found = _VALUE.match(data, _after_blanks(data, done), done + _REACH)
            if found is None or (
                found.lastindex == 5 and data[found.end() : found.end() + 1] in _OPENS
            ):
                break
            done = found.end()
            if _SECRET_NAME.fullmatch(name) and _is_secret(name, found):
                yield Span(*found.span(found.lastindex or 0))


def _after_blanks(data: bytes, place: int) -> int:
    found = _BEFORE.match(data, place, place + 120)
    return found.end() if found else place


def _is_secret(name: bytes, found: re.Match[bytes]) -> bool:
    value = found[found.lastindex or 0]
    if found.lastindex == 5 or len(value) < MIN_LENGTH:
        return False
    return looks_secret(value, password=_PASSWORD.search(name) is not None, quoted=True)


TUPLE_ASSIGNMENT = Rule("assignment", _HEAD, needs=_NEED, find=_find)
