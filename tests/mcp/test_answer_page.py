"""Answers stay small: pages of lists, shortened strings, and what was left out."""

import json
from typing import Any

import pytest

from remora.errors import UsageError
from remora.mcp.answer_page import MAX_BYTES, answer_text

COMMAND = ("remora", "hub", "get", "a b.py:f")


def answer(document: dict[str, Any], lists: tuple[str, ...] = (), **page: int) -> Any:
    text = answer_text(document, COMMAND, lists, **page)
    assert len(text.encode()) <= MAX_BYTES
    return json.loads(text)


def test_a_short_answer_is_the_document() -> None:
    document = {"node": "node:a.py:f", "callers": [{"key": "é"}], "fresh": True}
    assert answer(document, ("callers",)) == document


def test_the_pages_of_a_list_are_the_list() -> None:
    items, found, offset = list(range(1_234)), [], 0
    while True:
        page = answer({"callers": items}, ("callers",), limit=100, offset=offset)
        found += page["callers"]
        if "cut" not in page:
            break
        assert page["cut"] == {"callers": {"total": 1_234, "next_offset": len(found)}}
        offset = page["cut"]["callers"]["next_offset"]
    assert found == items


def test_a_page_becomes_shorter_if_its_items_are_long() -> None:
    page = answer({"jobs": ["x" * 900] * 40}, ("jobs",))
    assert 1 < len(page["jobs"]) < 40
    assert page["cut"]["jobs"]["next_offset"] == len(page["jobs"])


def test_long_strings_are_shortened_only_if_nothing_else_helps() -> None:
    page = answer({"error": "x" * 100_000, "name": "y" * 100})
    assert page["name"] == "y" * 100
    assert page["error"].endswith("… (98,000 more characters)")


def test_control_tokens_count_with_the_space_that_they_get() -> None:
    page = answer({"jobs": ["<|" * 450] * 40}, ("jobs",))
    assert page["jobs"][0] == "< |" * 450


def test_an_unknown_list_stays_unknown() -> None:
    assert answer({"callers": None}, ("callers",)) == {"callers": None}


def test_an_offset_after_the_end_gives_an_empty_page() -> None:
    assert answer({"nodes": [1]}, ("nodes",), offset=5) == {"nodes": []}


def test_what_cannot_fit_is_an_error() -> None:
    with pytest.raises(UsageError, match="longer than 20,000 bytes") as error:
        answer_text({str(number): "x" * 100 for number in range(1_000)}, COMMAND)
    assert error.value.hint == "`remora hub get 'a b.py:f'` prints it"


def test_lone_surrogates_are_escaped_and_control_characters_kept() -> None:
    assert answer({"name": "a\x00\x1b[31m"}) == {"name": "a\x00\x1b[31m"}
    assert answer({"root": "/é\udcff"}) == {"root": "/é\udcff"}
