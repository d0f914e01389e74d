"""Rules for credentials that are recognized by their format.

The rules are rows of `credential_formats.txt`, whose first lines describe the columns.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from remora.trace.redact.heuristics import (
    has_digit,
    has_mixed_characters,
    is_not_a_name,
    is_random_token,
)
from remora.trace.redact.private_key import PEM, PEM_IN_BASE64, PUTTY
from remora.trace.redact.rule import ESCAPE, Rule, find_by_head, outside_base64

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
