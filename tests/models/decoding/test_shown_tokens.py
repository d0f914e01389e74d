"""Servers keep the marks of every family in what they send."""

import pytest

from remora.mcp.answer_page import neutral
from remora.models.client.wire_format import completion_body
from remora.models.decoding.call_formats import FAMILIES, MARKS, Family
from remora.models.protocol import Decoding, Request
from tests.models.decoding.written_calls import WRITE

REQUEST = Request(prompt="A", decoding=Decoding(strategy="completion"))


def test_llama_cpp_preserves_the_marks_of_every_family() -> None:
    preserved = completion_body(REQUEST, model="m", llama=True)["preserved_tokens"]
    assert set(preserved) == set(MARKS) == {m for family in FAMILIES for m in family.marks}
    assert "<|tool_call_start|>" in preserved
    assert len(preserved) == len(set(preserved))


def test_families_have_names_of_their_own() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_marks_of_a_family_are_all_that_it_writes_around_values(family: Family) -> None:
    text = WRITE[family.name]("put", {"path": "a", "line": 3})
    for mark in family.marks:
        assert mark in text
        text = text.replace(mark, "")
    assert "<" not in text


def test_no_answer_for_a_model_holds_a_mark() -> None:
    assert {"<function=", "</function>", "<parameter=", "</parameter>"} < set(MARKS)
    for mark in MARKS:
        assert mark not in neutral(f"a{mark}b")
