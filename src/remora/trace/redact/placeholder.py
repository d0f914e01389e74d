"""Placeholders in place of secrets: creation and search."""

import hmac
import re

PLACEHOLDER = re.compile(r"<secret:[a-z0-9-]+:[0-9a-f]{12}>")
"""Matches every placeholder, of any version of the rules."""

_IN_BYTES = re.compile(PLACEHOLDER.pattern.encode())
_START = "<secret:"


def placeholder(key: bytes, rule: str, secret: bytes) -> bytes:
    """Return `<secret:RULE:FINGERPRINT>`; the same secret and key give the same placeholder."""
    fingerprint = hmac.digest(key, secret, "sha256").hex()[:12]
    return f"<secret:{rule}:{fingerprint}>".encode()


def placeholders(text: str | bytes) -> set[str]:
    """Return all placeholders in `text`."""
    if isinstance(text, str):
        return set(PLACEHOLDER.findall(text)) if _START in text else set()
    found: list[bytes] = _IN_BYTES.findall(text)
    return {mark.decode() for mark in found}


def new_placeholders(before: str | bytes | None, after: str | bytes | None) -> set[str]:
    """Return the placeholders that `after` has and `before` does not; None means no text.

    A model may write back a placeholder that it was shown. A text with new placeholders must not
    reach a user's file: the placeholder would be in the place of a secret, or of nothing.
    """
    found = placeholders(after or "")
    return found - placeholders(before or "") if found else found
