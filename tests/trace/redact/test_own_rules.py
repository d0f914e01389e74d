"""Rules of the user: which part goes, what is refused, and that they come on top."""

import pytest

from remora.trace.redact.redactor import Redactor
from remora.trace.redact.rule import UserRule

KEY = b"k" * 32


def clean(pattern: str, text: str) -> str:
    return Redactor(KEY, own=[UserRule("shop", pattern)]).text(text)


def test_the_whole_match_goes() -> None:
    assert clean(r"SHOP-\d{4}", "id SHOP-1234.").startswith("id <secret:shop:")


def test_the_first_group_goes() -> None:
    assert clean(r"id=(\d+) (\w+)", "id=77 bob").startswith("id=<secret:shop:")
    assert clean(r"id=(\d+) (\w+)", "id=77 bob").endswith("> bob")


def test_the_group_named_secret_goes() -> None:
    text = clean(r"id=(\d+) (?P<secret>\w+)", "id=77 bob")
    assert text.startswith("id=77 <secret:shop:")


def test_a_group_that_took_no_part() -> None:
    assert clean(r"id(=\d+)?", "id") == "id"


def test_short_and_foreign_text() -> None:
    assert "é" not in clean("é", "café")
    assert clean("ключ|🦀", "🦀").startswith("<secret:shop:")
    assert clean(".", "\ud800a\x00").count("<secret:shop:") == 3


def test_twice_is_once() -> None:
    for pattern in (".+", r"[a-z0-9:<>]{3}", "secret", r"\d+", "[a-f0-9]{12}"):
        redactor = Redactor(KEY, own=[UserRule("shop", pattern)])
        once = redactor.text("the secret is 1234567890ab and password='aB3dE6gH9jK2'")
        assert redactor.text(once) == once


def test_builtin_rules_stay() -> None:
    assert "aB3" not in clean("SHOP", 'api_key = "' + "aB3dE6gH9" * 3 + '"')


@pytest.mark.parametrize("name", ["", "Shop", "shop rule", "shop_rule", "-shop", "a--b", "a" * 41])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters, digits and single hyphens"):
        Redactor(KEY, own=[UserRule(name, "x")])


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a{2000}", "[", "\ud800"])
def test_bad_patterns(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^redaction rule 'shop': ") as caught:
        Redactor(KEY, own=[UserRule("shop", pattern)])
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize("pattern", ["", "a*", "(a)?"])
def test_patterns_that_match_nothing_at_all(pattern: str) -> None:
    with pytest.raises(ValueError, match="matches the empty string"):
        Redactor(KEY, own=[UserRule("shop", pattern)])


def test_the_version_knows_them() -> None:
    one, two = (Redactor(KEY, own=[UserRule("shop", pattern)]).version for pattern in ("a", "b"))
    assert one != two
    assert one.startswith("redact/1+")
