"""Functions to create and find placeholders for secrets."""

import hmac
import re

PLACEHOLDER = re.compile(r"<secret:[a-z0-9-]+:[0-9a-f]{12}>")
"""Matches placeholders of all versions of the rules."""

_IN_BYTES = re.compile(PLACEHOLDER.pattern.encode())
_START = "<secret:"


def placeholder(key: bytes, rule: str, secret: bytes) -> bytes:
    """Return `<secret:RULE:FINGERPRINT>`.

    The fingerprint depends only on the secret and the key.
    """
    fingerprint = hmac.digest(key, secret, "sha256").hex()[:12]
    return f"<secret:{rule}:{fingerprint}>".encode()


def placeholders(text: str | bytes) -> set[str]:
    if isinstance(text, str):
        return set(PLACEHOLDER.findall(text)) if _START in text else set()
    found: list[bytes] = _IN_BYTES.findall(text)
    return {mark.decode() for mark in found}


def new_placeholders(before: str | bytes | None, after: str | bytes | None) -> set[str]:
    """Return the placeholders that occur in `after` but not in `before`. None counts as empty.

    Use this to check text from a model, which may have copied placeholders into a file. Text with
    new placeholders must not be written to a user's file.
    """
    found = placeholders(after or "")
    return found - placeholders(before or "") if found else found
