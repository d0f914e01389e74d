"""The calls of a node: callers left, callees right, and no more than can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.code.links import TIERS, Edge
from remora.pictures.call_neighbourhood import call_neighbourhood
from tests.pictures.drawn import HOSTILE, assert_harmless, boxes, height, parsed, texts

KEY = "node:src/shop/cart.py:Cart.total"
NEIGHBOURS = st.lists(
    st.builds(
        Edge,
        key=st.sampled_from(["node:src/a.py:f", "node:tests/test_a.py:test_f", "ext:os.path.join"]),
        tier=st.sampled_from(TIERS),
        lines=st.lists(st.integers(1, 99), max_size=9).map(tuple),
    ),
    max_size=40,
)


@given(NEIGHBOURS, NEIGHBOURS)
def test_boxes_are_within_the_picture_and_do_not_overlap(
    callers: list[Edge], callees: list[Edge]
) -> None:
    picture = call_neighbourhood(KEY, callers, callees)
    found = boxes(picture, "state-", "focus")
    assert len(found) == 1 + min(len(callers), 12) + min(len(callees), 12)
    for number, box in enumerate(found):
        assert 0 <= box.x <= box.right <= 900
        assert 0 <= box.y <= box.bottom <= height(picture)
        assert not any(box.overlaps(other) for other in found[number + 1 :])


def test_callers_are_left_and_callees_right() -> None:
    caller = Edge(key="node:tests/test_cart.py:test_total", tier="exact", lines=(4, 9))
    callee = Edge(key="ext:math.fsum", tier="possible", lines=())
    picture = call_neighbourhood(KEY, [caller], [callee])
    test, outside, node = boxes(picture, "state-good", "state-quiet", "focus")
    assert test.right < node.x < node.right < outside.x
    assert "tests/test_cart.py:test_total: test, exact, line 4, 9" in texts(picture, "title")
    assert "✓ test_cart.py:test_total" in texts(picture, "text")
    lines = [each.attrib["class"] for each in parsed(picture).iter("path")]
    assert lines == ["edge", "edge weak"]


def test_nodes_of_the_project_come_first_and_what_is_outside_last() -> None:
    keys = ["ext:builtins.len", "node:tests/test_a.py:test_a", "node:src/a.py:f"]
    found = [Edge(key=key, tier="exact", lines=()) for key in keys]
    shown = texts(call_neighbourhood(KEY, [], found), "text")
    assert shown == ["ƒ a.py:f", "✓ test_a.py:test_a", "↗ builtins.len", "cart.py:Cart.total"]


def test_long_names_keep_their_end_which_tells_them_apart() -> None:
    names = [f"TestTotals.test_of_an_empty_cart_with_discount_{number}" for number in range(2)]
    found = [Edge(key=f"node:tests/test_cart.py:{name}", tier="exact", lines=()) for name in names]
    shown = texts(call_neighbourhood(KEY, found, []), "text")
    assert shown[0].startswith("✓ …")
    assert [text[-14:] for text in shown[:2]] == ["ith_discount_0", "ith_discount_1"]


@pytest.mark.parametrize("number", [12, 13, 1000])
def test_what_is_left_out_is_counted(number: int) -> None:
    callers = [Edge(key=f"node:a.py:f{each}", tier="exact", lines=()) for each in range(number)]
    shown = texts(call_neighbourhood(KEY, callers, []), "text")
    assert (f"and {number - 12} more" in shown) is (number > 12)


def test_a_node_without_calls_is_drawn_alone() -> None:
    picture = call_neighbourhood(KEY, [], [])
    assert texts(picture, "text") == ["cart.py:Cart.total"]
    assert not list(parsed(picture).iter("table"))


def test_hostile_names_are_text_and_outside_names_are_no_links() -> None:
    odd = Edge(key=f"node:{HOSTILE}:{HOSTILE}", tier="exact", lines=())
    outside = Edge(key=f"ext:{HOSTILE}", tier="exact", lines=())
    picture = call_neighbourhood(odd.key, [odd, outside], [odd], href=lambda _: "/node?key=1")
    assert_harmless(picture)
    assert len(list(parsed(picture).iter("a"))) == 2
