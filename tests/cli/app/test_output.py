"""How lines are made for people."""

import os
import pty
import subprocess
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.cli.app import output
from remora.cli.app.output import pasteable, print_error, table, wrap_text
from remora.cli.views.diff_view import styled_lines
from remora.text import count, escape_line


@given(st.text())
def test_no_character_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not {c for c in escape_line(text) if (ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160}


@pytest.mark.parametrize("sign", "\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069")
def test_no_character_turns_a_text_around(sign: str) -> None:
    assert escape_line(f"a{sign}b") == f"a\\u{ord(sign):04x}b"


@pytest.mark.parametrize(
    ("sign", "shown"), [("\u200b", r"\u200b"), ("\xad", r"\xad"), ("\U000e0041", r"\U000e0041")]
)
def test_no_character_is_invisible(sign: str, shown: str) -> None:
    assert escape_line(f"a{sign}b") == f"a{shown}b"


@pytest.mark.parametrize("sign", "\x0b\x0c\x1c\x85\u2028\r")
def test_a_line_of_a_diff_is_one_line(sign: str) -> None:
    """What is added must not be shown on a line that looks like another."""
    lines = [click.unstyle(line) for line in styled_lines(f"@@\n-a\r\n+b{sign}-c\n")]
    assert lines == ["@@", "-a", f"+b{escape_line(sign)}-c"]
    assert escape_line(sign) != sign


def test_a_printed_command_finds_the_same_project_and_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["remora", "hub", "get", "x", "--root", "a b", "--db=c.db"])
    assert pasteable("run `remora hub index`, or `remora show`; see `x`, `remora a --root b`") == (
        "run `remora hub index --root 'a b' --db c.db`, or `remora show --root 'a b'`; see `x`, "
        "`remora a --root b`"
    )


def test_columns_are_aligned_and_numbers_right_aligned() -> None:
    lines = table(("NAME", "JOBS"), [["a", 5], ["longer", 12]])
    assert [click.unstyle(line) for line in lines] == [
        "NAME    JOBS",
        "a          5",
        "longer    12",
    ]


def test_a_very_long_cell_does_not_make_the_other_lines_longer() -> None:
    rows = [["x" * 10_000, 1], ["y", 2]]
    _, first, second = map(click.unstyle, table(("A", "B"), rows))
    assert first == "x" * 10_000 + "  1"
    assert second == "y".ljust(200) + "  2"


def test_a_table_without_rows_is_its_head() -> None:
    assert len(table(("A", "B"), [])) == 1


def test_the_words_of_a_line_that_changed_are_underlined() -> None:
    lines = styled_lines("@@ -1 +1 @@\n a\n-def load(text):\n+def load(text, size):\n")
    assert [click.unstyle(line) for line in lines] == [
        "@@ -1 +1 @@", " a", "-def load(text):", "+def load(text, size):",
    ]  # fmt: skip
    assert click.style(", size", fg="green", underline=True) in lines[-1]
    assert "\x1b[4m" not in lines[2]


def test_very_long_lines_are_not_compared() -> None:
    numbers = ", ".join(map(str, range(20_000)))
    lines = styled_lines(f"-a = [{numbers}]\n+a = [{numbers}, 1]\n")
    assert "\x1b[4m" not in lines[0] + lines[1]


def test_lines_that_have_little_in_common_are_not_compared() -> None:
    assert "\x1b[4m" not in "".join(styled_lines("-import os\n+x = compute(3)\n"))


def test_keywords_are_bold_and_strings_and_comments_italic() -> None:
    context, added = styled_lines("@@ -1 +1,2 @@\n return x  # one\n+    return 'a'\n")[1:]
    assert context == f" {click.style('return', bold=True)} x  {click.style('# one', italic=True)}"
    assert click.style("return", fg="green", bold=True) in added
    assert click.style("'a'", fg="green", italic=True) in added


@given(st.lists(st.text("ab -+@", max_size=6), min_size=1, max_size=8).map("\n".join))
def test_colors_change_no_character_of_a_diff(text: str) -> None:
    shown = [click.unstyle(line) for line in styled_lines(text)]
    assert shown == (text.removesuffix("\n").split("\n") if text else [])


WORDS = st.lists(st.text("abc:/", min_size=1, max_size=30), min_size=1, max_size=8).map(" ".join)


@given(
    rows=st.lists(st.tuples(st.text("ab", min_size=1, max_size=9), WORDS), max_size=4),
    width=st.integers(20, 80),
)
def test_at_any_width_a_table_cuts_nothing_and_breaks_no_word(
    rows: list[tuple[str, str]], width: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "terminal_width", lambda: width)
        lines = [click.unstyle(line) for line in table(("NAME", "WHAT IT IS"), rows)]
    words = [word for row in rows for cell in row for word in cell.split()]
    longest = max([4, *map(len, words)])
    assert all(len(line) <= max(width, longest + 13) for line in lines)
    shown = " ".join(lines).split()
    assert [word for word in shown if word not in ["NAME", "WHAT", "IT", "IS"]] == words


def test_a_table_that_is_too_wide_becomes_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "terminal_width", lambda: 16)
    rows = [["20261127-0800", "ended", 3], ["20261128-0800", "failed", 0]]
    assert [click.unstyle(line) for line in table(("RUN", "STATUS", "JOBS"), rows)] == [
        "RUN     20261127-0800", "STATUS  ended", "JOBS    3", "",
        "RUN     20261128-0800", "STATUS  failed", "JOBS    0",
    ]  # fmt: skip


def test_a_list_has_no_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "terminal_width", lambda: 16)
    lines = table(("REPOSITORY", "ERROR", "JOBS"), [["shop", "", 3], ["a name", "", 0]])
    assert [click.unstyle(line) for line in lines] == [
        "REPOSITORY  shop", "JOBS        3", "",
        "REPOSITORY  a", "            name", "JOBS        0",
    ]  # fmt: skip


NOTE_IN_A_BAR = """
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.working import working
with working(Options(root=None), "planning"):
    note(Options(root=None), "[1/2] planned shop")
"""


def test_a_note_is_a_line_above_what_shows_that_a_command_works() -> None:
    ours, theirs = pty.openpty()
    line = [sys.executable, "-c", NOTE_IN_A_BAR]
    subprocess.run(line, check=True, stderr=theirs, env={"TERM": "xterm-256color"})
    os.close(theirs)
    seen = os.read(ours, 65536).decode()
    os.close(ours)
    assert "\x1b[2K[1/2] planned shop\r\n" in seen  # the bar is erased before it


def test_counts_are_words() -> None:
    assert [count(n, "turn") for n in (0, 1, 1234)] == ["0 turns", "1 turn", "1,234 turns"]
    assert count(2, "entry", "entries") == "2 entries"


def test_a_command_is_never_wrapped_for_it_is_there_to_be_copied() -> None:
    command = "`remora analyze --resume 20260101-000000-abcdef`"
    assert wrap_text(f"what was done is recorded; {command} does the rest", 30) == [
        "what was done is recorded;",
        command,
        "does the rest",
    ]
    assert wrap_text("a\tb", None) == ["a\tb"]


def test_an_error_is_wrapped_but_a_snippet_in_it_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remora.cli.app.output.terminal_width", lambda _stream=None: 30)
    snippet = "    a line of somebody's file that is long"
    print_error("x", f"the file cannot be read by anybody\n{snippet}", "make it so", as_json=False)
    lines = click.unstyle(capsys.readouterr().err).splitlines()
    assert lines == ["error: the file cannot be read", "by anybody", snippet, "  make it so"]
