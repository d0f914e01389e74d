"""What counts as a value of an argument, and when a packet holds it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from packet_values import PacketText, argument_values

from remora.memory.packet import Action, Candidate, DecisionPacket, Excerpt, Fact


def test_values() -> None:
    odd = {"odd": [b"xy", 2**70, float("inf"), "\ud800x"]}
    cases: tuple[tuple[Any, list[str]], ...] = (
        ({}, []),
        ({"path": "a.py", "lines": [12, 40]}, ["a.py", "12", "40"]),
        ({"deep": [{"x": ["ab", "ab"]}]}, ["ab", "ab"]),
        ({"yes": True, "none": None, "empty": "", "one": "a", "space": " \n"}, []),
        ({"small": [0, 9, -9], "larger": [10, -10]}, ["10", "-10"]),
        ({"share": 0.5, "whole": 3.0}, ["0.5", "3.0"]),
        ({"text": "  two\n  lines "}, ["two lines"]),
        (odd, ["xy", str(2**70), "inf", "\ud800x"]),
        ([1.5, "args that are no mapping"], ["1.5", "args that are no mapping"]),
    )
    for arguments, expected in cases:
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


IN_PACKET = (
    *("src/shop/cart.py", "parse", "ord-7731", "m@x.org", "who", "88", "F401", "cart_total"),
    *("31", "40", "2.75", 'print("x", total=2.75)', "src/third.py", "99", "as offered"),
)
ABSENT = (
    *("ord-77", "cart_tot", "8", "75", "art_total"),  # within a longer word or number
    *("17", "16", "15", "13", "14", "12", "error"),  # counters and bookkeeping
    *("src/hidden.py", "never told"),  # not shown to any model
)


def test_whole_values_are_found_where_a_model_sees_them() -> None:
    shown = PacketText(PACKET)
    assert [value for value in IN_PACKET if not shown.has(value)] == []
    assert [value for value in ABSENT if shown.has(value)] == []


texts = st.text(max_size=20)


@given(texts, texts, texts)
def test_a_value_that_is_a_whole_fact_is_found_and_never_across_two(
    one: str, other: str, key: str
) -> None:
    facts = {"k" + key: Fact(value=one, source_turn=0), "l": Fact(value=other, source_turn=0)}
    shown = PacketText(DecisionPacket(knowledge=facts))
    for value in argument_values([one, other]):
        assert shown.has(value)
    assert not any(shown.has(f"{one}\x00{other}{n}") for n in range(2))
