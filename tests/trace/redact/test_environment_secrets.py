"""Values of environment variables: which are secret, and that they are found everywhere."""

import base64
import json
import random
from urllib.parse import quote

import pytest

from remora.trace.redact.builtin_rules import environment_secrets
from remora.trace.redact.redactor import Redactor, placeholders

KEY = b"k" * 32


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "github_token",
        "SHOP_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "AWS_CREDENTIALS",
        "NPM_AUTH",
        "MYSQL_PWD",
        "DB_PASS",
        "SENTRY_DSN",
        "SSH_PASSPHRASE",
        "DATABASE_URL_KEY",
    ],
)
def test_telling_names(name: str) -> None:
    value = "zebra" + "17quux"
    clean = Redactor(KEY, environ={name: value}).text(f"it says {value}, twice: {value}{value}")
    assert value not in clean
    (mark,) = placeholders(clean)
    assert mark.startswith(f"<secret:env-{name.lower().replace('_', '-')}:")


@pytest.mark.parametrize(
    "name", ["HOME", "GIT_AUTHOR_NAME", "PWD", "OLDPWD", "KEYBOARD", "LC_ALL", "EDITOR", "MONKEY"]
)
def test_other_names(name: str) -> None:
    assert environment_secrets({name: "zebra17quux"}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a1b2c3",
        "password",
        "development",
        "Shop Orders Production",
        "keyring-service",
        "basic,digest",
        "us-east-1",
        "python3.11".replace("3", "-3"),
        "1234567890",
        "2026-01-31",
        "1.20.300",
        "true",
        "/run/user/1000/keyring/ssh",
        "~/.ssh/id_ed25519.pub",
        "C:\\Users\\shop\\key.pem",
        "https://auth.example.org/v2/token",
        "--------------------",
        "aaaaaaaaaaaa",
    ],
)
def test_ordinary_values(value: str) -> None:
    assert environment_secrets({"SHOP_KEY": value}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "horse12!staple",
        "hunter22",
        "correcthorsebatterystaple",
        "aBcXyZqWeRtY",
        "0123456789abcdef",
        "p@ss word 99",
        "pässwörd🦀1",
        'quote"and\\slash99',
        "a/b+c9==/xyz",
        "8f14e45f-ceea-467f-a0e6-2b1a7b1c9d2e",
    ],
)
def test_secret_values_in_any_spelling(value: str) -> None:
    redactor = Redactor(KEY, environ={"SHOP_KEY": value})
    for text in (
        value,
        f"x{value}y",
        f"({value})\n",
        json.dumps([value]),
        json.dumps([value], ensure_ascii=False),
        f"https://example.org/?q={quote(value, safe='')}&page=2",
    ):
        clean = redactor.text(text)
        assert "<secret:env-shop-key:" in clean
        assert value not in clean
        assert json.dumps(value)[1:-1] not in clean
        assert redactor.text(clean) == clean
    assert value.encode() not in redactor.clean(b"\xff" + value.encode() + b"\xff")


def test_bytes_that_are_not_utf8() -> None:
    raw = b"\xff\xfe-9zebra17"
    redactor = Redactor(KEY, environ={"SHOP_KEY": raw.decode(errors="surrogateescape")})
    assert raw not in redactor.clean(b"say " + raw)
    assert "zebra17" not in redactor.text("say " + raw.decode(errors="surrogateescape"))


def test_lines_of_a_long_value_count_for_themselves() -> None:
    pick = random.Random(3)
    lines = [base64.b64encode(pick.randbytes(30)).decode() for _ in range(3)]
    value = "\n".join(["-----BEGIN ODD THING-----", *lines, "-----END ODD THING-----"])
    redactor = Redactor(KEY, environ={"SHOP_KEY": value + "\n"})
    for line in lines:
        assert line not in redactor.text(f"{line} # and no more of it")
    assert len(placeholders(redactor.text(f"all: {value}"))) == 1
    assert redactor.text("-----BEGIN ODD THING-----") == "-----BEGIN ODD THING-----"


def test_a_url_counts_with_its_password() -> None:
    redactor = Redactor(KEY, environ={"DATABASE_URL": "postgres://shop:zebra17quux@db/orders"})
    assert "zebra17quux" not in redactor.text("the password was zebra17quux then")
    assert "zebra17quux" not in redactor.text("postgres://shop:zebra17quux@db/orders")


def test_overlapping_values_leave_nothing() -> None:
    first, second = "zebra17quuxab", "quuxab99lemur"
    redactor = Redactor(KEY, environ={"A_KEY": first, "B_KEY": second, "C_KEY": first[2:-2]})
    clean = redactor.text(f"glued: {first}{second[6:]} end, apart: {first} {second} {first[2:-2]}")
    assert clean.startswith("glued: <secret:env-a-key:")
    assert "> end, apart: <" in clean
    assert "99lemur" not in clean
    assert "bra17" not in clean


def test_values_inside_lookalikes() -> None:
    """A mark that tells the secret as its fingerprint hides nothing."""
    redactor = Redactor(KEY, environ={"A_KEY": "abcdef012345", "B_KEY": "zebra-17-quux-x1"})
    assert "abcdef012345" not in redactor.text("<secret:jwt:abcdef012345>")
    assert "zebra" not in redactor.text("<secret:zebra-17-quux-x1:0123456789ab>")


def test_values_that_placeholders_are_made_of() -> None:
    """`secret:env-a-key` is no secret: every placeholder says it."""
    redactor = Redactor(KEY, environ={"A_KEY": "zebra17quux", "B_KEY": "secret:env-a-key"})
    clean = redactor.text("zebra17quux")
    assert clean.startswith("<secret:env-a-key:")
    assert redactor.text(clean) is clean


def test_odd_variable_names_make_proper_rules() -> None:
    for name in ("ÄPI_KEY", "__TOKEN__", "A" * 200 + "_KEY", "key.with-dots", "ключ_KEY"):
        redactor = Redactor(KEY, environ={name: "zebra17quux"})
        assert len(placeholders(redactor.text("zebra17quux"))) == 1
