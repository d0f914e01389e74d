"""Servers keep the marks of every family in what they send."""

from remora.memory.prompt.control_tokens import KNOWN_TOKENS, neutralize_control_tokens
from remora.models.client.wire_format import completion_body
from remora.models.families import FAMILIES
from remora.models.protocol import Decoding, Request

REQUEST = Request(prompt="A", decoding=Decoding(strategy="completion"))


def test_llama_cpp_preserves_the_marks_of_every_family() -> None:
    preserved = completion_body(REQUEST, model="m", llama=True)["preserved_tokens"]
    assert set(preserved) == {mark for family in FAMILIES for mark in family.marks}
    assert "<|tool_call_start|>" in preserved
    assert len(preserved) == len(set(preserved))


def test_families_have_names_of_their_own() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))


def test_no_answer_for_a_model_holds_a_mark() -> None:
    for mark in (mark for family in FAMILIES for mark in family.marks):
        assert mark not in neutralize_control_tokens(f"a{mark}b", KNOWN_TOKENS)
