"""Names as they are pasted."""

import pytest

from remora.hub.lookup.pasted_names import AtLine, at_line, unpasted


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("tests/test_a.py::test_b", "tests/test_a.py:test_b"),
        ("tests/test_a.py::TestC::test_b[1-x::y]", "tests/test_a.py:TestC.test_b"),
        ("total()", "total"),
        ("Cart.total(items, currency='EUR')", "Cart.total"),
        ("cart.py:Cart.total", "cart.py:Cart.total"),
        ("f#2", "f#2"),
        ("()", "()"),
        ("::", "::"),
    ],
)
def test_what_was_pasted_is_a_name(pasted: str, meant: str) -> None:
    assert unpasted(pasted) == meant


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a/b.py:116", AtLine("a/b.py", 116)),
        ("node:b.py:7:12:", AtLine("b.py", 7)),
        ("b.py:f", None),
        ("b.py:0", None),
        ("b.py", None),
    ],
)
def test_a_number_behind_a_file_is_a_line(name: str, place: AtLine | None) -> None:
    assert at_line(name) == place
