"""What a redactor promises: marks, fingerprints, no second finding, nothing hidden behind marks."""

import hmac
import re
from collections.abc import Iterator

import pytest

from remora.trace.redact.redactor import (
    BUILTIN,
    PLACEHOLDER,
    Redactor,
    new_placeholders,
    placeholders,
)
from remora.trace.redact.rule import Matcher, Rule, Span, compile_pattern
from tests.trace.redact.planted import planted

KEY = b"k" * 32
TOKEN = "gh" + "p_" + "aB3dE6gH9" * 4
PASSWORD = "horse12!staple"
GENUINE = "<secret:jwt:0123456789ab>"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(KEY)


def test_a_placeholder_names_the_rule_and_the_secret(redactor: Redactor) -> None:
    fingerprint = hmac.digest(KEY, TOKEN.encode(), "sha256").hex()[:12]
    mark = f"<secret:github-token:{fingerprint}>"
    assert redactor.text(f"use {TOKEN}.") == f"use {mark}."
    assert mark in redactor.text(f"https://me:{TOKEN}@example.org")
    assert mark not in Redactor(b"of another installation").text(TOKEN)


def test_a_pattern_is_compiled_once_a_text_may_match_it() -> None:
    compile_pattern.cache_clear()
    redactor = Redactor(KEY)
    redactor.text("a sentence without secrets")
    assert compile_pattern.cache_info().currsize == 0
    redactor.text(TOKEN)
    assert compile_pattern.cache_info().currsize > 0


def test_text_without_secrets_is_returned_unchanged(redactor: Redactor) -> None:
    text = "one plain line of text, with a password: yes"
    assert redactor.text(text) is text


def test_lines_with_secrets_include_those_within_a_secret_of_several_lines(
    redactor: Redactor,
) -> None:
    text = f'x = 1\npassword = """\n{PASSWORD}\n"""\nuse {TOKEN}\r\n'
    assert redactor.lines_with_secrets(text) == [3, 5]
    assert redactor.lines_with_secrets("x = 1\n") == []


def test_every_builtin_rule_finds_something(redactor: Redactor) -> None:
    page = "\n".join(secret.context for secret in planted(1))
    page += "\nhttps://discord." + "com/api/webhooks/1234567890/" + "aB3_" * 17
    page += "\nya29" + "." + "aB3_" * 10 + "\n"
    found = {mark.split(":")[1] for mark in placeholders(redactor.text(page))}
    assert {rule.name for rule in BUILTIN} - found == set()
    assert len(found) >= 140


@pytest.mark.slow
def test_no_need_is_a_need_too_many() -> None:
    """A rule is asked only if its need is met, so the need must be met by all it finds."""
    texts = [secret.context for secret in planted(3)[::7]]
    for rule in BUILTIN:
        alone = Redactor(KEY, [rule])
        always = Redactor(KEY, [Rule(rule.name, rule.pattern, "", rule.accept, rule.find)])
        for text in texts:
            assert alone.text(text) == always.text(text), rule.name


@pytest.mark.parametrize(
    "text",
    [
        'password = "{}"',
        "password={}",
        "https://me:{}@example.org/",
        "Authorization: Bearer {}",
        "AccountKey={};",
        "--token {}",
        "session={}; path=/",
        "db_password: {}\n",
        '{{"api_key": "{}"}}',
        "x;Password={};",
    ],
)
def test_a_placeholder_is_not_a_secret(redactor: Redactor, text: str) -> None:
    for mark in (GENUINE, GENUINE * 2):
        line = text.format(mark)
        assert redactor.text(line) is line


@pytest.mark.parametrize("around", ["{mark}{secret}", "{secret}{mark}", "{mark}{secret}{mark}"])
def test_nothing_hides_next_to_a_placeholder(redactor: Redactor, around: str) -> None:
    text = 'password = "' + around.format(mark=GENUINE, secret=PASSWORD) + '"'
    clean = redactor.text(text)
    assert PASSWORD not in clean
    assert GENUINE in clean


def test_nothing_hides_inside_what_looks_like_a_placeholder(redactor: Redactor) -> None:
    for lookalike in (
        f"<secret:github-token:{TOKEN}>",
        f"<secret:{TOKEN}:0123456789ab>",
        f'password = "<secret:{PASSWORD}:0123456789ab>"',
        'password = "<secret:horse12staple:0123456789ab>"',
        "<secret:ke" + "y-0123456789abcdef0123456789abcdef:0123456789ab>",
    ):
        clean = redactor.text(lookalike)
        assert clean != lookalike
        assert not re.search("horse12|aB3d|abcdef", clean)


def test_a_foreign_placeholder_is_left_alone(redactor: Redactor) -> None:
    """Another installation's, or one of a variable that is set no more."""
    for text in (
        "the value <secret:env-shop-token:0123456789ab> was used",
        "<secret:env-password:0123456789ab><secret:shop-key:ba9876543210>",
        'api_key = "<secret:env-api-key:0123456789ab>"',
    ):
        assert redactor.text(text) is text


def test_overlapping_findings_become_one(redactor: Redactor) -> None:
    clean = redactor.text(f"postgres://me:{TOKEN}x!y@db.example.org/shop")
    assert clean.startswith("postgres://me:<secret:")
    assert clean.endswith(">@db.example.org/shop")
    assert len(placeholders(clean)) == 1


def test_characters_are_never_cut(redactor: Redactor) -> None:
    text = f'password = "{"pässwörd🦀1" * 200}"'
    assert redactor.text(text) == f'password = "{placeholders(redactor.text(text)).pop()}"'


def test_a_long_tangle_ends_between_characters() -> None:
    environ = {"A_KEY": "zebra17quuxab", "B_KEY": "quuxab99lemur"}
    clean = Redactor(KEY, environ=environ).text("zebra17quuxab99lemur-" + "é" * 300)
    assert re.fullmatch(r"<secret:env-a-key:\w{12}>é+", clean)


def test_the_last_name_in_a_run_of_names(redactor: Redactor) -> None:
    assert "hunter22" not in redactor.text("token:orders/list:password=hunter22#x")
    assert "hunter22" not in redactor.text("token:orders/list:password=hunter22#x; more")


def test_the_last_word_of_a_tangle() -> None:
    """A text in which each pass uncovers more may not go on for ever."""

    def first(data: bytes, matcher: Matcher) -> Iterator[Span]:
        yield from [Span(*match.span()) for match in matcher.finditer(data)][:1]

    redactor = Redactor(KEY, [Rule("odd", "xxxx", "xxxx", find=first)])
    assert redactor.text("xxxx xxxx").count("<secret:odd:") == 2
    clean = redactor.text("xxxx " * 20)
    assert PLACEHOLDER.fullmatch(clean)
    assert "tangled" in clean
    assert redactor.text(clean) is clean


def test_versions() -> None:
    plain = Redactor(KEY)
    assert plain.version == "redact/1"
    known = Redactor(KEY, environ={"SHOP_TOKEN": PASSWORD})
    other = Redactor(KEY, environ={"SHOP_TOKEN": PASSWORD[::-1]})
    assert known.version == other.version  # it tells nothing of the value
    assert known.version.startswith("redact/1+")
    assert Redactor(KEY, environ={"HOME": "/home/shop"}).version == plain.version
    assert Redactor(KEY, environ={"SHOP_KEY": PASSWORD}).version != known.version
    assert Redactor(KEY, BUILTIN[:3]).version != plain.version


def test_new_placeholders() -> None:
    other = "<secret:env-token:ba9876543210>"
    assert new_placeholders(None, f"a {GENUINE}") == {GENUINE}
    assert new_placeholders(f"a {GENUINE}", f"{GENUINE} {GENUINE}") == set()
    assert new_placeholders(GENUINE.encode(), f"{GENUINE}{other}".encode()) == {other}
    assert new_placeholders("a", None) == set()
    assert new_placeholders(b"\xff", b"\xff <secret:jwt:0123>") == set()
    assert placeholders(b"\xff" + GENUINE.encode()) == {GENUINE}
