"""The marks that stand where secrets stood: how they are made and how they are found."""

import hmac
import re

PLACEHOLDER = re.compile(r"<secret:[a-z0-9-]+:[0-9a-f]{12}>")
"""What every placeholder matches, whichever version of the rules wrote it."""

_IN_BYTES = re.compile(PLACEHOLDER.pattern.encode())
_START = "<secret:"


def placeholder(key: bytes, rule: str, secret: bytes) -> bytes:
    """`<secret:RULE:FINGERPRINT>`: the same secret under the same key always looks the same."""
    fingerprint = hmac.digest(key, secret, "sha256").hex()[:12]
    return f"<secret:{rule}:{fingerprint}>".encode()


def placeholders(text: str | bytes) -> set[str]:
    """Every placeholder that stands in `text`."""
    if isinstance(text, str):
        return set(PLACEHOLDER.findall(text)) if _START in text else set()
    found: list[bytes] = _IN_BYTES.findall(text)
    return {mark.decode() for mark in found}


def new_placeholders(before: str | bytes | None, after: str | bytes | None) -> set[str]:
    """Placeholders that `after` has and `before` has not; None stands for nothing at all.

    A model that was shown a placeholder may write it back. Whatever is not empty here must
    not reach a user's file: the mark would stand where a secret, or nothing, belongs.
    """
    found = placeholders(after or "")
    return found - placeholders(before or "") if found else found
