"""What counts as a value of an argument, and when a packet holds it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.evals.argument_coverage import VisibleText, argument_values
from remora.memory.packet import Action, Candidate, DecisionPacket, Excerpt, Fact


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, []),
        ({"path": "a.py", "lines": [12, 40]}, ["a.py", "12", "40"]),
        ({"deep": [{"x": ["ab", "ab"]}]}, ["ab", "ab"]),
        ({"yes": True, "none": None, "empty": "", "one": "a", "space": " \n"}, []),
        ({"small": [0, 9, -9], "larger": [10, -10]}, ["10", "-10"]),
        ({"share": 0.5, "whole": 3.0}, ["0.5", "3.0"]),
        ({"text": "  two\n  lines "}, ["two lines"]),
        ({"odd": [b"xy", 2**70, float("inf"), "\ud800x"]},
         ["b'xy'", str(2**70), "inf", "\ud800x"]),
        ([1.5, "args that are no mapping"], ["1.5", "args that are no mapping"]),
    ],
)  # fmt: skip
def test_values(arguments: Any, expected: list[str]) -> None:
    assert argument_values(arguments) == expected


def test_values_of_arguments_as_deep_as_you_like() -> None:
    deep: Any = "leaf"
    for _ in range(50_000):
        deep = [deep]
    assert argument_values(deep) == ["leaf"]


PACKET = DecisionPacket(
    turn=17,
    goal="Fix the findings of parse",
    node_id="node:src/shop/cart.py:parse",
    state_summary="31 orders left",
    excerpt=Excerpt(
        ref="code", path="src/lib.py", lines=(40, 41), text='    print("x",\n    total=2.75)'
    ),
    diagnostics=("E722 line 88: bare except", {"code": "F401"}),
    recent_actions=(
        Action(turn=16, tool="grep", args={"name": "cart_total"}, summary="1 hit", outcome="error"),
    ),
    knowledge={"who": Fact(value="id=ord-7731,ord-8842;mail=m@x.org", source_turn=15)},
    hub_context={"node:src/other.py:f": {"callers": ["node:src/third.py:g"]}},
    hub_freshness={"node:src/hidden.py:f": "2026-01-01"},
    candidate_actions=(Candidate(tool="edit", args={"line": 99}, reason="as offered"),),
    error_count=13,
    omitted={"actions": 14},
)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("src/shop/cart.py", "given"),
        ("parse", "given"),
        ("ord-7731", "memory"),
        ("m@x.org", "memory"),
        ("who", "memory"),
        ("88", "memory"),
        ("F401", "memory"),
        ("cart_total", "memory"),
        ("31", "memory"),
        ("40", "memory"),
        ('print("x", total=2.75)', "memory"),
        ("2.75", "memory"),
        ("src/third.py", "memory"),
        ("99", "candidates"),
        ("as offered", "candidates"),
        # within a longer word or number
        ("ord-77", None),
        ("cart_tot", None),
        ("8", None),
        ("75", None),
        ("art_total", None),
        # counters and bookkeeping are no places
        ("17", None),
        ("16", None),
        ("15", None),
        ("13", None),
        ("14", None),
        ("12", None),
        ("error", None),
        # not shown to any model
        ("src/hidden.py", None),
        ("nobody told me", None),
    ],
)
def test_places(value: str, place: str | None) -> None:
    assert VisibleText(PACKET).origin_of(value) == place


texts = st.text(max_size=20)


@given(texts, texts, texts)
def test_a_value_that_is_a_whole_fact_is_found_and_never_across_two(
    one: str, other: str, key: str
) -> None:
    facts = {"k" + key: Fact(value=one, source_turn=0), "l": Fact(value=other, source_turn=0)}
    shown = VisibleText(DecisionPacket(knowledge=facts))
    for value in argument_values([one, other]):
        assert shown.origin_of(value) == "memory"
    assert all(shown.origin_of(f"{one}\x00{other}{n}") is None for n in range(2))


def test_without_memory_values_are_given_or_candidates() -> None:
    shown = VisibleText(PACKET, [])
    assert [shown.origin_of(v) for v in ("parse", "99", "ord-7731")] == [
        "given",
        "candidates",
        None,
    ]
