"""The lines of diffs of Python: what they are, their syntax, and words that changed."""

import time

from remora.code.syntax.diff_parts import Part, diff_lines

TWO_FILES = """\
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
--- one
+++ one
 two
--- a/b.py
+++ b/b.py
@@ -0,0 +1 @@
+x = 1
"""


def test_the_head_of_a_hunk_says_where_the_next_file_begins() -> None:
    kinds = [line.kind for line in diff_lines(TWO_FILES)]
    assert kinds == ["head", "head", "hunk", "del", "add", "", "head", "head", "hunk", "add"]


def test_both_versions_of_a_line_have_their_syntax_and_what_the_other_lacks() -> None:
    _, old, new = diff_lines("@@ -1 +1 @@\n-return 'a'  # b\n+return 'a', c\n")
    assert old.parts[1:4] == (Part("return", "keyword"), Part(" "), Part("'a'", "string"))
    assert {part.text for part in old.parts if part.syntax == "comment"} == {"#", " ", "b"}
    assert [part.text for part in new.parts if part.is_other] == [",", "c"]


def test_the_text_of_a_line_is_kept_with_any_character_in_it() -> None:
    for text in (" a\rb", "+\ufeffx", "-'\x00", " "):
        assert [line.text for line in diff_lines(text)] == [text]
    assert diff_lines("") == []


def test_very_long_lines_and_many_alike_lines_take_little_time() -> None:
    long = "(1,)" * 50_000
    alike = "".join(f"-{'a, ' * 90}{n}\n" for n in range(250)) + "".join(
        f"+{'a, ' * 90}{n}x\n" for n in range(250)
    )
    begin = time.monotonic()
    assert len(diff_lines(f"-{long}\n+{long}1\n")) == 2
    assert len(diff_lines(alike)) == 500
    assert time.monotonic() - begin < 10
