"""What holds of redaction for any text and any value: total, once is enough, nothing is lost."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.trace.redact.builtin_rules import BUILTIN
from remora.trace.redact.redactor import Redactor
from remora.trace.redact.rule import UserRule
from tests.trace.redact.planted import planted, readable

KEY = b"k" * 32
SECRETS = planted(77)
ENVIRON = {
    "A_KEY": "zebra17quux",
    "B_TOKEN": "quux99lemur<x>",
    "C_SECRET": "x1>\"'=y2 z3\nline+2==",
}
OWN = (UserRule("digits", r"\d{5,}"), UserRule("after-id", r"id[=:](?P<secret>\S+)"))
PLAIN = Redactor(KEY)
FULL = Redactor(KEY, environ=ENVIRON, own=OWN)

MARKS = (
    "<secret:jwt:0123456789ab>",
    "<secret:env-a-key:ba9876543210>",
    "<secret:nobody:0123456789ab>",
)
_PIECES = (
    [secret.value for secret in SECRETS]
    + [secret.context for secret in SECRETS]
    + [need for rule in BUILTIN for need in (rule.name, rule.needs)]
    + [*ENVIRON.values(), *MARKS, "<secret:", ":0123456789ab>", "password", "token", " = ", ": "]
    + ['"', "'", "\\", '\\"', "\n", "\\n", "://", "@", "`", "id=", "Bearer ", "-----BEGIN ", "\x01"]
)
ANY_TEXT = st.text(st.characters(), max_size=40)  # lone surrogates too


def _piece(number: int) -> str:
    """One of them; all in one strategy would be too much for Hypothesis to print."""
    return _PIECES[number % len(_PIECES)]


PIECES = st.integers(0, len(_PIECES) - 1).map(_piece)
TEXTS = st.lists(PIECES | ANY_TEXT, max_size=8).map("".join) | ANY_TEXT
REDACTORS = pytest.mark.parametrize("redactor", [PLAIN, FULL], ids=["builtin", "full"])


@REDACTORS
@given(text=TEXTS)
def test_twice_is_once(redactor: Redactor, text: str) -> None:
    once = redactor.text(text)
    assert redactor.text(once) == once


@REDACTORS
@given(text=TEXTS)
def test_unchanged_is_the_same(redactor: Redactor, text: str) -> None:
    clean = redactor.text(text)
    assert (clean is text) == (clean == text)


@REDACTORS
@given(text=TEXTS)
def test_what_is_kept_was_there_in_that_order(redactor: Redactor, text: str) -> None:
    """All between the new marks is the text's own, and stands in it from left to right."""
    at = 0
    for part in re.split(r"<secret:[a-z0-9-]+:[0-9a-f]{12}>", redactor.text(text)):
        found = text.find(part, at)
        assert found >= at
        at = found + len(part)


@given(data=st.binary(max_size=200), where=st.integers(0, 200), secret=st.sampled_from(SECRETS))
def test_bytes(data: bytes, where: int, secret: Any) -> None:
    """Whatever bytes are around, as long as the secret's own place is ASCII."""
    raw = secret.value.encode()
    dirty = data[:where] + b"\n" + raw + b"\n" + data[where:]
    clean = PLAIN.clean(dirty)
    assert isinstance(clean, bytes)
    assert PLAIN.clean(clean) == clean
    alone = PLAIN.text(secret.value) != secret.value
    if alone:
        assert not any(part.encode() in clean for part in readable(secret))


@given(before=ANY_TEXT, after=ANY_TEXT, value=st.sampled_from(sorted(ENVIRON)))
def test_known_values_are_found_anywhere(before: str, after: str, value: str) -> None:
    secret = ENVIRON[value]
    assert secret not in FULL.text(before + secret + after)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            TEXTS | st.sampled_from(["password", "apiKey", "Cookie"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@REDACTORS
@given(value=JSON)
def test_values(redactor: Redactor, value: Any) -> None:
    before = repr(value)
    clean = redactor.clean(value)
    assert repr(value) == before
    assert type(clean) is type(value)
    assert redactor.clean(clean) is clean
    assert (clean is value) == (repr(clean) == before)


@given(value=JSON)
def test_strings_in_values_are_cleaned_as_text_is(value: Any) -> None:
    for text in _strings(FULL.clean(value)):
        assert FULL.text(text) == text


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _strings(item)]
    return []
