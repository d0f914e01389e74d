"""How lines are made for people."""

import click
from hypothesis import given
from hypothesis import strategies as st

from remora.cli.output import count, plain, table


@given(st.text())
def test_no_character_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not {c for c in plain(text) if (ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160}


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    lines = table(("NAME", "JOBS"), [["a", 5], ["longer", 12]])
    assert [click.unstyle(line) for line in lines] == [
        "NAME    JOBS",
        "a          5",
        "longer    12",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert len(table(("A", "B"), [])) == 1


def test_counts_are_words() -> None:
    assert [count(n, "turn") for n in (0, 1, 1234)] == ["0 turns", "1 turn", "1,234 turns"]
    assert count(2, "entry", "entries") == "2 entries"
