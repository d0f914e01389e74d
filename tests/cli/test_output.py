"""How lines are made for people."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.cli.output import count, plain, print_error, table, wrapped


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


def test_a_command_is_never_wrapped_for_it_is_there_to_be_copied() -> None:
    command = "`remora analyze --resume 20260101-000000-abcdef`"
    assert wrapped(f"what was done is recorded; {command} does the rest", 30) == [
        "what was done is recorded;",
        command,
        "does the rest",
    ]
    assert wrapped("a\tb", None) == ["a\tb"]


def test_an_error_is_wrapped_but_a_snippet_in_it_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remora.cli.output.room", lambda _stream=None: 30)
    snippet = "    a line of somebody's file that is long"
    print_error("x", f"the file cannot be read by anybody\n{snippet}", "make it so", as_json=False)
    lines = click.unstyle(capsys.readouterr().err).splitlines()
    assert lines == ["error: the file cannot be read", "by anybody", snippet, "  make it so"]
