"""Rule for secrets in assignments, such as `password = "..."` or `API_KEY=...`."""

import re
from collections.abc import Iterator

from remora.trace.redact.heuristics import MIN_LENGTH, PASSWORD, looks_secret
from remora.trace.redact.rule import Matcher, Rule, Span

NAME = (
    r"(?:pass(?:word|wd|phrase)|passwort|pwd|[_-]pass|secret|token|credential|[_-]auth"
    r"|(?:api|access|auth|private|secret|signing|encryption|master|account|shared|service|app(?:lication)?"
    r"|deploy|license|webhook|storage|admin)[_-]?key)"
)
"""Words at the end of a name that mark its value as secret (case-insensitive)."""

ENDING = (
    r"(?:s|[_-]?(?:value|keys?|token|prod|production|dev|test|live|staging|old|new|base|base64"
    r"|b64|plain|[0-9]{1,3}))?"
)

_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|:=|=>|[=!]=|=|:|,)"
)
_REACH = 1024  # bytes of a value that are checked before the rest is read; bounds the time

_BARE_REACH = 200
_COMMA = ord(",")
_BLANK = frozenset((b" ", b"\t", b"\r", b"\n", b"(", b"\\"))
_OPENERS = frozenset((b"'", b'"', b"`", b"\\", b" ", b"\t"))
_SUSPICIOUS = re.compile(rb"[0-9!@#$%^&*+?~]|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]{20}")
"""A cheap first test: a value without a match is not a secret."""

_PUBLIC = re.compile(rb"(?i)(?:next|page|continuation|cancellation|cursor|public_?key)[_-]?\Z")
"""Text before a head such as `token` that makes it harmless: a list position, or a public key."""

_QUOTE_BEFORE_COMMA = re.compile(rb"[\"'][ \t]*,\Z")
_ENV_LINE = re.compile(rb"[A-Z0-9_]+=")
_BLANKS = re.compile(rb"[ \t]{0,16}+(?:\(?\\?\r?\n[ \t]{0,80}+(?=[\"'rRbBuU]))?")
_QUOTED = re.compile(
    rb"(?:[rRbBuUfF]{1,2}+(?=[\"']))?"
    rb"(?:(?:\"\"\"|\")((?:[^\"\\\n]++|\\.)*+)"
    rb"|(?:\'\'\'|')((?:[^'\\\n]++|\\.)*+)"
    rb"|`((?:[^`\\\n]++|\\.)*+)"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)"
    rb"|\\++'((?:[^'\\\n]++|\\++(?!'))*+))"
)
_BARE = re.compile(rb"([^\x00\x02-\x20\"'`<>()\[\]{},;&|\\\x7f]++)")
_CALLED = re.compile(rb"[(\[]")
_ODD = re.compile(rb"[!?#@$~*%^+]")
_NOT_CODE = re.compile(rb"[?#@$~]|!(?!=)")
"""Characters that never join letters and digits in code."""

_END_OF_LINE = re.compile(rb"[ \t]*+(?:[\r\n#&\"'\x00\x1b]|\\n|\Z)")


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the value after each head if it looks like a secret.

    A long run of unquoted text may contain many heads. Only the first and the last are checked, so
    that the running time stays linear.
    """
    done = run_end = 0
    last: Span | None = None
    for match in heads.finditer(data):
        head = Span(*match.span())
        if last is not None and head.start >= run_end:
            yield from _last_value(data, last, done)
            last = None
        if head.start < done:
            continue
        if head.start < run_end and data[head.end : head.end + 1] not in _OPENERS:
            last = head
            continue
        value, run_end = _value(data, head)
        if value is not None:
            done = value.end
            yield value
    if last is not None:
        yield from _last_value(data, last, done)


def _last_value(data: bytes, head: Span, done: int) -> Iterator[Span]:
    value = _value(data, head)[0] if head.start >= done else None
    if value is not None:
        yield value


def _value(data: bytes, head: Span) -> tuple[Span | None, int]:
    """Return the secret after a head, and the end of the unquoted text that was checked.

    The secret is None if the value does not look like one.
    """
    comma = data[head.end - 1] == _COMMA
    if comma and not _QUOTE_BEFORE_COMMA.search(data, head.start, head.end):
        return None, 0
    start = head.end
    if data[start : start + 1] in _BLANK:
        blanks = _BLANKS.match(data, start)
        start = blanks.end() if blanks else start
    if (found := _QUOTED.match(data, start, start + _REACH)) is not None:
        return _quoted_value(data, head, found, listed=comma), 0
    found = None if comma else _BARE.match(data, start, start + _BARE_REACH)
    if found is None:
        return None, 0
    is_secret = _is_bare_secret(data, head, found) and not _is_public(data, head)
    return (_to_the_end(found, _BARE_REACH) if is_secret else None), found.end()


def _is_public(data: bytes, head: Span) -> bool:
    return _PUBLIC.search(data, max(0, head.start - 16), head.start) is not None


def _to_the_end(found: re.Match[bytes], reach: int) -> Span:
    """Return the span of the whole value, even if only its beginning was checked."""
    if found.end() == found.start() + reach:
        found = found.re.match(found.string, found.start()) or found
    return Span(*found.span(found.lastindex or 0))


def _is_password(data: bytes, head: Span) -> bool:
    return PASSWORD.search(data, head.start, head.end) is not None


def _quoted_value(data: bytes, head: Span, found: re.Match[bytes], *, listed: bool) -> Span | None:
    value = found[found.lastindex or 0]
    if len(value) < MIN_LENGTH or not _SUSPICIOUS.search(value):
        return None
    judged = looks_secret(value, password=_is_password(data, head), quoted=not listed)
    if not judged or _is_public(data, head):
        return None
    return _to_the_end(found, _REACH)


def _is_bare_secret(data: bytes, head: Span, found: re.Match[bytes]) -> bool:
    """Return True if an unquoted value is a secret.

    Returns False for code, such as a call, an attribute or a comparison.
    """
    value = found[1].rstrip(b".:!?")
    if len(value) < MIN_LENGTH or not _SUSPICIOUS.search(value):
        return False
    compared = data[head.end - 2 : head.end] in (b"==", b"!=", b":=")
    if compared or _CALLED.match(data, found.end()):
        return False
    password = _is_password(data, head)
    literal = _ENV_LINE.fullmatch(data, head.start, head.end) is not None
    if password and data[head.end - 1 : head.end] == b":":
        literal = literal or bool(_END_OF_LINE.match(data, found.end()) or _ODD.search(value))
    elif password:
        literal = literal or _NOT_CODE.search(value) is not None
    return looks_secret(value, password=password, quoted=literal)


def is_secret_value(name: str, value: bytes) -> bool:
    """Return True if the whole `value` is a secret. `name` is the key, field or flag that it
    belongs to.
    """
    password = PASSWORD.search(name.encode(errors="replace")) is not None
    return looks_secret(value, password=password, quoted=True)


ASSIGNMENT = Rule("assignment", _HEAD, needs=_HEAD, find=_find)
