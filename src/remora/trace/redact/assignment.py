"""Secrets known only by the name they are given to: `password = "…"`, `API_KEY=…`, `token: …`."""

import re

from remora.trace.redact.plausible import plausible
from remora.trace.redact.rule import Rule, Span

NAME = (
    r"(?:pass(?:word|wd|phrase)|passwort|pwd|[_-]pass|secret|token|credential|[_-]auth"
    r"|(?:api|access|auth|private|secret|signing|encryption|master|account|shared|service|app"
    r"|deploy|license|webhook|storage|admin)[_-]?key)"
)
"""Words at the end of a name whose value is a secret (to be matched without case)."""

ENDING = (
    r"(?:s|[_-]?(?:value|keys?|token|prod|production|dev|test|live|staging|old|new|base|base64"
    r"|b64|plain|[0-9]{1,3}))?"
)

_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|:=|=>|[=!]=|=|:|,)"
)
_REACH = 1024
"""Bytes of a value that are looked at before more of it is taken: bounds the time."""

_PUBLIC = re.compile(rb"(?i)(?:next|page|continuation|cancellation|cursor|public_?key)[_-]?\Z")
"""Before `token`: how far a list was read, or the public half of a pair."""

_QUOTE_BEFORE_COMMA = re.compile(rb"[\"'][ \t]*,\Z")
_PASSWORD = re.compile(rb"(?i)pass|pwd")
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
_NO_CODE = re.compile(rb"[?#@$~]|!(?!=)")
"""What no expression has between its letters and digits."""

_END_OF_LINE = re.compile(rb"[ \t]*+(?:[\r\n#&\"'\x00]|\\n|\Z)")


def take(data: bytes, head: Span) -> Span | None:
    """The value that is given after a head, if it looks like a secret."""
    if _PUBLIC.search(data, max(0, head.start - 16), head.start):
        return None
    comma = data[head.end - 1 : head.end] == b","
    if comma and not _QUOTE_BEFORE_COMMA.search(data, head.start, head.end):
        return None
    start = _start(data, head.end)
    found = _QUOTED.match(data, start, start + _REACH)
    if found is not None:
        judged = plausible(
            found[found.lastindex or 0], password=_is_password(data, head), quoted=not comma
        )
    else:
        found = None if comma else _BARE.match(data, start, start + _REACH)
        judged = found is not None and _bare(data, head, found)
    if found is None or not judged:
        return None
    if found.end() == start + _REACH:
        found = found.re.match(data, start) or found
    return Span(*found.span(found.lastindex or 0))


def _start(data: bytes, end: int) -> int:
    blanks = _BLANKS.match(data, end)
    return blanks.end() if blanks else end


def _is_password(data: bytes, head: Span) -> bool:
    return _PASSWORD.search(data, head.start, head.end) is not None


def _bare(data: bytes, head: Span, found: re.Match[bytes]) -> bool:
    """Without quotes it may be code: a call, an attribute, a comparison."""
    compared = data[head.end - 2 : head.end] in (b"==", b"!=", b":=")
    if compared or _CALLED.match(data, found.end()):
        return False
    password = _is_password(data, head)
    shell = _ENV_LINE.fullmatch(data, head.start, head.end) is not None
    line = password and data[head.end - 1 : head.end] == b":"
    value = found[1].rstrip(b".:!?")
    literal = (
        shell
        or (line and _END_OF_LINE.match(data, found.end()) is not None)
        or (password and _NO_CODE.search(value) is not None)
    )
    return plausible(value, password=password, quoted=literal)


def given(name: str, value: bytes) -> bool:
    """Whether all of `value`, kept under the key, field or flag `name`, is a secret."""
    password = _PASSWORD.search(name.encode(errors="replace")) is not None
    return plausible(value, password=password, quoted=True)


ASSIGNMENT = Rule("assignment", _HEAD, needs=rf"(?i){NAME}", take=take)
