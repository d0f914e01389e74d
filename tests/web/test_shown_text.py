"""Text on pages: hidden characters are visible, and the lines of a diff are what they are."""

import re
import unicodedata
from pathlib import Path

import pytest

import remora.web
from remora.code.syntax.diff_parts import diff_lines
from remora.text import HIDDEN
from remora.web.value_view import visible, with_code
from remora.workspaces.copy.changes import diff

CHARACTERS = [chr(code) for code in range(0x110000)]


def test_a_share_file_hides_the_same_characters_as_the_page() -> None:
    script = Path(remora.web.__file__).parent / "static/share.js"
    found = re.search(r"const HIDDEN = /(\[.*?\])/gu;", script.read_text())
    assert found is not None
    pattern = re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: rf"\U{int(code[1], 16):08x}", found[1])
    shown = re.compile(pattern)
    assert [c for c in CHARACTERS if shown.match(c)] == [c for c in CHARACTERS if HIDDEN.match(c)]


def test_characters_that_are_not_seen_are_escaped() -> None:
    hidden = {c for c in CHARACTERS if HIDDEN.match(c)}
    assert {c for c in CHARACTERS if unicodedata.category(c) == "Cc"} - hidden == {"\t", "\n"}
    assert hidden >= {*"\xad\u180e\u115f\u3164\ufe00\ufe0f\u206a\ufff9\U000e0001\U000e007f"}
    assert not any(c.isalnum() for c in hidden - {*"\u115f\u1160\u3164\uffa0"})


@pytest.mark.parametrize(
    ("character", "escape"),
    [("\x1b", r"\x1b"), ("\xad", r"\xad"), ("\u200b", r"\u200b"), ("\U000e0041", r"\U000e0041")],
)
def test_an_escape_names_the_character(character: str, escape: str) -> None:
    assert visible(f"a{character}b") == f'a<span class="hidden">{escape}</span>b'


def test_what_is_between_backticks_is_code() -> None:
    assert with_code("use `a < b`; not `") == "use <code>a &lt; b</code>; not `"


def test_changed_lines_that_look_like_names_of_files_are_changes() -> None:
    text = diff("a.sql", b"-- one\ntwo\n", b"++ one\ntwo\n")
    kinds = [(line.kind, line.text) for line in diff_lines(text)]
    assert ("del", "--- one") in kinds
    assert ("add", "+++ one") in kinds
    assert ("head", "--- a/a.sql") in kinds
    assert diff_lines("") == []
