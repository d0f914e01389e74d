"""Caps on single values, applied where a delta is made."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory import delta as make
from remora.memory.canonical import canonical, to_packet_value
from remora.memory.delta import PacketDelta
from remora.memory.packet import (
    Candidate,
    Excerpt,
    NewAction,
)
from remora.text import clip

texts = st.text(st.characters(exclude_categories=[]), max_size=900)
values = st.recursive(
    texts | st.floats() | st.integers() | st.text('\x00"\\\n', max_size=900),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3),
    max_leaves=4,
)


def spelled(value: Any) -> str:
    return canonical(value).decode()


@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 200), (999, 200)])
def test_a_clipped_text_ends_in_an_ellipsis(length: int, kept: int) -> None:
    clipped = clip("x" * length, 200)
    assert len(clipped) == kept
    assert clipped.endswith("…") == (length > 200)


@given(values)
def test_a_knowledge_value_has_at_most_500_characters(value: Any) -> None:
    made = make.knowledge_value(value)
    assert len(spelled(made)) <= 500
    whole = to_packet_value(value)
    if len(spelled(whole)) <= 500:
        assert made == whole
    else:
        assert made.endswith("…")
        assert (whole if isinstance(whole, str) else spelled(whole)).startswith(made[:-1])


@pytest.mark.parametrize("character", ["x", "é", '"', "\x00", "😀"])
def test_a_long_text_keeps_what_there_is_room_for(character: str) -> None:
    made = make.knowledge_value(character * 2000)
    width = len(spelled(character)) - 2
    assert 500 - width < len(spelled(made)) + width
    assert len(spelled(made)) <= 500


@given(st.lists(values, max_size=25))
def test_diagnostics_are_at_most_20_items_of_200_characters(found: list[Any]) -> None:
    made = make.diagnostics(found)
    assert len(made) == min(len(found), 20)
    for item in made:
        assert len(item if isinstance(item, str) else spelled(item)) <= 200


def test_texts_are_one_line() -> None:
    action = make.new_action("t", {}, " two\n\tlines\x1f ", "success")
    assert action.summary == "two lines"
    assert make.error_text("a\r\nb") == "a b"
    assert make.error_text(None) is None
    assert make.candidate("t", {}, "a\nb").reason == "a b"


def test_caps_of_an_action() -> None:
    args = {"text": "x" * 999, "list": ["x" * 999], "ratio": 0.5}
    action = make.new_action("t", args, "s" * 999, "partial")
    assert len(action.summary) == 200
    assert action.args["text"] == "x" * 199 + "…"
    assert len(spelled(action.args["list"])) <= 500
    assert action.args["ratio"] == "0.5"


def test_a_candidates_arguments_are_whole_since_they_are_what_would_be_called() -> None:
    made = make.candidate("t", {"text": "x" * 9999, "ratio": 0.5}, "r" * 999)
    assert made.args == {"text": "x" * 9999, "ratio": "0.5"}
    assert len(made.reason) == 200


@pytest.mark.parametrize(
    ("text", "last"), [("a", 3), ("a\n", 3), ("a\nb", 4), ("a\n\n", 4), ("a\r\nb\r\n", 4), ("", 3)]
)
def test_an_excerpts_last_line_follows_from_its_text(text: str, last: int) -> None:
    assert make.excerpt("r", "p", 3, text).lines == (3, last)


def test_a_delta_that_others_made_gets_the_same_caps() -> None:
    foreign = PacketDelta(
        turn=3,
        state_summary="s" * 999,
        excerpt=Excerpt(ref="\ud800", path="p", lines=(1, 1), text="\ud800"),
        candidate_actions=(Candidate(tool="t", args={"x": 1.5}, reason="r" * 999),),
        diagnostics=("d" * 999,) * 30,
        add_action=NewAction(tool="t", args={"x": 1.5}, summary="s" * 999, outcome="error"),
        update_knowledge={"k": "v" * 999, "n": 2**60},
        forget_knowledge=("k",),
        set_error="e\n" * 999,
        hub_context={"n": 1.5, "gone": None},
        hub_freshness={"n": "t"},
        extensions={"x": (1.5,), "gone": None},
    )
    made = make.with_caps(foreign)
    assert made == PacketDelta(
        turn=3,
        state_summary="s" * 299 + "…",
        excerpt=Excerpt(ref=r"\ud800", path="p", lines=(1, 1), text=r"\ud800"),
        candidate_actions=(Candidate(tool="t", args={"x": "1.5"}, reason="r" * 199 + "…"),),
        diagnostics=("d" * 199 + "…",) * 20,
        add_action=NewAction(tool="t", args={"x": "1.5"}, summary="s" * 199 + "…", outcome="error"),
        update_knowledge={"k": "v" * 497 + "…", "n": str(2**60)},
        forget_knowledge=("k",),
        set_error="e " * 149 + "e…",
        hub_context={"n": "1.5", "gone": None},
        hub_freshness={"n": "t"},
        extensions={"x": ["1.5"], "gone": None},
    )
    assert make.with_caps(made) == made


def test_null_and_absent_stay_apart_under_caps() -> None:
    assert make.with_caps(PacketDelta()) == PacketDelta()
    cleared = PacketDelta(set_error=None, excerpt=None)
    assert make.with_caps(cleared) == cleared
