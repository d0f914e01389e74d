"""Nested values: everything in them is cleaned, nothing clean is copied, no depth is too deep."""

import sys
from typing import Any, NamedTuple

import msgspec
import pytest

from remora.trace.redact.redactor import Redactor, placeholders
from tests.trace.redact.planted import planted

TOKEN = "gh" + "p_" + "aB3dE6gH9" * 4
PASSWORD = "horse12!staple"
DEPTH = 50_000


class Inner(msgspec.Struct, frozen=True):
    password: str
    note: str = ""


class Outer(msgspec.Struct, frozen=True, tag="outer", kw_only=True):
    inner: Inner
    clean: Inner
    number: int = 1


class Pair(NamedTuple):
    left: str
    right: object


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


def test_every_kind_of_container(redactor: Redactor) -> None:
    mark = redactor.text(TOKEN)
    raw = mark.encode()
    secret = TOKEN.encode()
    value: Any = {
        TOKEN: [TOKEN, (TOKEN, 1), Pair(TOKEN, {TOKEN})],
        "b": [secret, bytearray(secret)],
    }
    clean = redactor.clean(value)
    assert clean == {mark: [mark, (mark, 1), Pair(mark, {mark})], "b": [raw, bytearray(raw)]}
    assert isinstance(clean[mark][2], Pair)
    assert value[TOKEN][0] == TOKEN  # the original stays as it was


def test_structs_are_replaced_field_by_field(redactor: Redactor) -> None:
    clean_part = Inner("none")
    outer = Outer(inner=Inner("changeme", TOKEN), clean=clean_part)
    clean = redactor.clean(outer)
    assert clean == Outer(inner=Inner("changeme", redactor.text(TOKEN)), clean=clean_part)
    assert clean.clean is clean_part


def test_text_without_secrets_is_returned_unchanged(redactor: Redactor) -> None:
    part = {"a": ["b", 1, None, 2.5, True, b"\xff\x00"], "c": ("\ud800", "\x00", float("nan"))}
    whole = [part, {"d": Outer(inner=Inner("x"), clean=Inner("y"))}]
    assert redactor.clean(whole) is whole
    half = redactor.clean({"clean": part, "dirty": TOKEN})
    assert half["clean"] is part


def test_a_telling_key_makes_a_secret(redactor: Redactor) -> None:
    for value in (
        {"password": PASSWORD},
        {"DB_PASSWORD": PASSWORD},
        {"env": [{"name": "DB_PASSWORD", "value": PASSWORD}]},
        {"passwords": [PASSWORD, PASSWORD]},
        {"passwords": {"shop": [{"test": PASSWORD}]}},
        {"passwords": {PASSWORD}},
        {"password": PASSWORD.encode()},
        {"passwords": {"shop": Pair("test", PASSWORD)}},
        ["--password", PASSWORD],
        ("password", PASSWORD),
        Inner(PASSWORD),
        [{"nested": {"apiKey": PASSWORD}}],
    ):
        clean = redactor.clean(value)
        assert PASSWORD not in repr(clean)
        assert len(placeholders(repr(clean))) == 1
        assert redactor.clean(clean) is clean


def test_headers_are_read_as_headers(redactor: Redactor) -> None:
    token = "aB3dE6gH9-" * 4
    clean = redactor.clean({"Authorization": f"Bearer {token}", "Cookie": f"a=b; session={token}"})
    assert clean["Authorization"].startswith("Bearer <secret:authorization:")
    assert clean["Cookie"].startswith("a=b; session=<secret:cookie:")


def test_a_telling_key_of_something_ordinary(redactor: Redactor) -> None:
    value = {
        "password": None,
        "token": "identifier",
        "tokens": ["def", "total", "price2"],
        "secret_name": "orders-db-2",
        "token_count": "1234567890",
        "api_key": "${API_KEY}",
        "Authorization": "Bearer of the ring",
        "Cookie": "language=en; theme=dark",
    }
    assert redactor.clean(value) is value


@pytest.mark.parametrize("dirty", [False, True])
def test_any_depth(redactor: Redactor, dirty: bool) -> None:
    value: Any = {"note": TOKEN if dirty else "nothing"}
    for level in range(DEPTH):
        value = {"a": value} if level % 2 else [value]
    clean = redactor.clean(value)
    assert (clean is value) is not dirty
    for level in reversed(range(DEPTH)):
        clean = clean["a"] if level % 2 else clean[0]
    assert clean == {"note": redactor.text(TOKEN) if dirty else "nothing"}
    assert sys.getrecursionlimit() < DEPTH


def test_asking_about_all_strings_at_once_misses_none(redactor: Redactor) -> None:
    """One secret among many plain strings, in each place."""
    for secret in planted(5)[::10]:
        for place in range(3):
            value = ["plain", "words", "only"]
            value[place] = secret.context
            assert redactor.clean(value)[place] == redactor.text(secret.context)


def test_other_things_stay_as_they_are(redactor: Redactor) -> None:
    odd = object()
    assert redactor.clean(odd) is odd
    assert redactor.clean([odd, TOKEN])[0] is odd
    assert redactor.clean(10**40) == 10**40
