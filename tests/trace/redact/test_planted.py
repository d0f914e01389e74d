"""Planted secrets: none is readable in what a stream would keep, whatever it stands in."""

import json

import msgspec
import pytest

from remora.trace.redact.redactor import Redactor, placeholders
from tests.trace.redact.planted import CONTEXTS, KINDS, Planted, planted, readable

KEY = b"k" * 32
SECRETS = planted(20260101)


class Record(msgspec.Struct, frozen=True):
    """As a payload holds values."""

    note: str
    rest: dict[str, object]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(KEY)


def test_at_least_the_expected_number_of_secrets_is_planted() -> None:
    assert len(KINDS) >= 200
    assert len(SECRETS) >= 2200
    assert len({secret.value for secret in SECRETS}) == len(SECRETS)
    for secret in SECRETS:
        assert readable(secret)


def test_each_can_be_read_before() -> None:
    """Or the tests below could not fail: JSON in JSON spells line ends and slashes anew."""
    for secret in SECRETS:
        assert all(part in secret.context for part in readable(secret))


@pytest.mark.parametrize("kind", KINDS)
def test_no_planted_secret_survives_in_text(redactor: Redactor, kind: str) -> None:
    for secret in SECRETS:
        if secret.kind == kind:
            clean = redactor.text(secret.context)
            assert [part for part in readable(secret) if part in clean] == []
            assert placeholders(clean)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_whatever_their_values(redactor: Redactor, seed: int) -> None:
    assert _survivors(redactor, planted(seed)) == []


def _in_lines(text: str) -> list[object]:
    """What tools return for a text: a list of its lines, or a row for each."""
    lines = text.split("\n")
    return [lines, tuple(lines), [{"number": n, "text": line} for n, line in enumerate(lines)]]


@pytest.mark.slow
def test_no_planted_secret_survives_a_division_into_lines(redactor: Redactor) -> None:
    several = [secret for secret in SECRETS if "\n" in secret.context]
    assert len(several) >= 200
    for secret in several:
        for value in _in_lines(secret.context):
            clean = repr(redactor.clean({"result": value}))
            assert [part for part in readable(secret) if part in clean] == []


def test_lines_keep_their_number_and_other_texts(redactor: Redactor) -> None:
    key = next(secret for secret in SECRETS if secret.kind == "private-key").value.split("\n")
    clean = redactor.clean(["before", *key, "after\nand more", *key, "end"])
    assert len(clean) == 2 * len(key) + 3
    assert [clean[0], clean[1 + len(key)], clean[-1]] == ["before", "after\nand more", "end"]


@pytest.mark.slow
def test_no_planted_secret_survives_in_nested_values(redactor: Redactor) -> None:
    for secret in SECRETS:
        text = secret.context
        value = {
            "list": [1, (text, None), {"deep": [[text]]}],
            text: "as a key",
            "raw": text.encode(errors="surrogatepass"),
            "array": bytearray(text, "utf-8", "surrogatepass"),
            "record": Record(text, {"again": text}),
        }
        clean = repr(redactor.clean(value))
        assert [part for part in readable(secret) if part in clean] == []


def test_no_planted_secret_survives_between_others(redactor: Redactor) -> None:
    """A page of all of them: no rule takes from another what it needs."""
    page = "\n".join(secret.context for secret in SECRETS)
    clean = redactor.text(page)
    assert [s.kind for s in SECRETS for part in readable(s) if part in clean] == []
    assert redactor.text(clean) == clean


def test_text_around_a_secret_stays(redactor: Redactor) -> None:
    carried = [s for s in SECRETS if s.context.startswith("before\n")]
    assert len(carried) == len(SECRETS) // len(CONTEXTS)
    for secret in carried:
        clean = redactor.text(secret.context)
        assert clean.startswith("before\n")
        assert clean.endswith("\nafter\n")


def test_json_stays_json(redactor: Redactor) -> None:
    for secret in SECRETS:
        if secret.context.startswith("{"):
            clean = json.loads(redactor.text(secret.context))
            assert clean.keys() == json.loads(secret.context).keys()


def _survivors(redactor: Redactor, secrets: list[Planted]) -> list[str]:
    return [
        secret.kind
        for secret in secrets
        if any(part in redactor.text(secret.context) for part in readable(secret))
    ]
