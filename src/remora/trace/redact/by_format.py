r"""Rules for credentials that are recognized by their format.

The rules are rows of `credential_formats.txt`, whose first lines describe the columns, and those
for private keys in PEM and PuTTY format. A key may be truncated, encoded in Base64, or have `\n` as
line endings.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from remora.trace.redact.heuristics import (
    has_digit,
    has_mixed_characters,
    is_not_a_name,
    is_random_token,
)
from remora.trace.redact.rule import ESCAPE, Rule, Span, find_by_head, outside_base64

_PARTS = {
    "{W}": "[A-Za-z0-9_-]",
    "{AN}": "[A-Za-z0-9]",
    "{UUID}": "{HEX}{8}(?:-{HEX}{4}){3}-{HEX}{12}",
    "{HEX}": "[0-9a-f]",
    "{START}": f"(?:^|[^A-Za-z0-9_]|{ESCAPE})",
    "{END}": "(?:[^A-Za-z0-9_]|$)",
}
_COLUMNS = re.compile(" {2,}")
_ACCEPT: dict[str, Callable[[bytes], bool]] = {
    "digit": has_digit,
    "not-a-name": is_not_a_name,
    "mixed": lambda value: has_mixed_characters(value.decode("latin-1")),
    "random": is_random_token,
}
_ALONE = find_by_head(outside_base64)

_BETWEEN = rb"(?:[\s\"'\\,nr+>|#*]{0,120}+(?:-(?!-)[ \t]?)?(?:\d{1,6}[\t :|]++)?)"
_BODY = re.compile(
    rb"(?:" + _BETWEEN + rb"[A-Za-z-]{3,20}: [^\n\\\"]{0,120}+)*+"
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/=]{16,}+)++"
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/]{1,15}+(?:={1,2}|(?=" + _BETWEEN + rb"-----END )))?"
    rb"(?:" + _BETWEEN + rb"-----END [A-Z0-9 ]{0,40}-----)?"
)


def _block(data: bytes, head: Span) -> Span | None:
    """Return the span of the block that starts at the head. A truncated block is also accepted."""
    body = _BODY.match(data, head.end)
    return Span(head.start, body.end()) if body else None


def _hides_private_key(value: bytes) -> bool:
    try:
        return b"PRIVATE KEY" in base64.b64decode(value[:80], validate=True)
    except binascii.Error:
        return False


PEM = Rule(
    "private-key",
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    needs="PRIVATE KEY",
    find=find_by_head(_block),
)

PEM_IN_BASE64 = Rule(
    "private-key",
    r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{60,}={0,2}",
    needs="LS0tLS1CRUdJTi",
    accept=_hides_private_key,
)

PUTTY = Rule(
    "private-key",
    r"Private-Lines: [0-9]{1,3}",
    needs="Private-Lines: [0-9]",
    find=find_by_head(_block),
)


def _rows() -> Iterator[Rule]:
    text = Path(__file__).with_name("credential_formats.txt").read_text("utf-8")
    for part, meaning in _PARTS.items():
        text = text.replace(part, meaning)
    for row in text.splitlines():
        if row and not row.startswith("#"):
            yield _rule(*_COLUMNS.split(row))


def _rule(name: str, needs: str, pattern: str, check: str = "") -> Rule:
    if check == "alone":
        return Rule(name, pattern, needs, find=_ALONE)
    return Rule(name, pattern, needs, _ACCEPT[check] if check else None)


BY_FORMAT: tuple[Rule, ...] = (PEM, PEM_IN_BASE64, PUTTY, *_rows())
"""The order of rows is the order in which rules are tried."""
