r"""Rules for private keys in PEM and PuTTY format.

A key may be truncated, encoded in Base64, or have `\n` as line endings.
"""

import base64
import binascii
import re

from remora.trace.redact.rule import Rule, Span, find_by_head

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
