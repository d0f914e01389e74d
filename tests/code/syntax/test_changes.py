"""What an edit changes: behaviour, docstrings, lines of a diff."""

import textwrap
import time

import pytest

from remora.code.syntax.changed_behavior import changed_behavior
from remora.code.syntax.diff_parts import Part, diff_lines
from remora.python_text import parse
from remora.runs.review.selection import only_docstrings_changed

READ = """\
def read(path, limit=10, *, mode="r"):
    '''Read a file.'''
    try:
        with open(path, mode) as file:
            text = file.read(limit)
    except OSError:
        return ""
    if text == None:
        raise ValueError(path)
    elif not text:
        text = "empty"
    else:
        text += "."
    for line in text.split("x"):
        print(line)
    else:
        print("done")
    return text
"""


def changes(before: str, after: str) -> dict[str, list[str]]:
    return changed_behavior(parse(textwrap.dedent(before)), parse(textwrap.dedent(after)))


def edited(old: str, new: str) -> list[str]:
    """The changes of `read` if a text in it is replaced."""
    assert old in READ
    found = changes(READ, READ.replace(old, new, 1))
    assert [*found] == ["read"]
    return found["read"]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("limit=10", "limit=None", "line 1: the default of `limit` was 10 and is None now"),
        ('mode="r"', "mode", "line 1: `mode` has no default any more"),
        ("path, limit=10,", "path,", "line 1: the parameter `limit` is gone"),
        ("OSError", "Exception", "line 6: `except OSError` is `except Exception` now"),
        ("OSError", "(ValueError, OSError)", "line 6: `except OSError` is `except (OSError, ValueError)` now"),
        ("except OSError", "except", "line 6: `except OSError` is `except` now"),
        ('return ""', "text = ''", "`return ''`, which was in line 7, is gone"),
        ("raise ValueError(path)", "pass", "`raise ValueError(path)`, which was in line 9, is gone"),
        ("elif not text:\n        text = \"empty\"\n    else", "else", "`if not text`, which was in line 10, is gone"),
        ("    else:\n        text += \".\"\n", "", "`else` of `if`, which was in line 13, is gone"),
        ("    else:\n        print(\"done\")\n", "", "`else` of `for`, which was in line 17, is gone"),
        ("with open(path, mode) as file:", "if file := open(path, mode):", "`with open(path, mode) as file`, which was in line 4, is gone"),
        ("for line in text.split(\"x\")", "while text", "`for line in text.split('x')`, which was in line 14, is gone"),
    ],
)  # fmt: skip
def test_it_is_named(old: str, new: str, named: str) -> None:
    assert named in edited(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("text == None", "text is None"),
        ("print(line)", "print(line, line)"),
        ("return text", "return text or None"),
        ("except OSError:", "except OSError as error:\n        print(error)"),
    ],
)
def test_other_changes_of_a_function_have_no_name(old: str, new: str) -> None:
    assert edited(old, new) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Read a file.", "Read the text of a file."),
        ("print(line)", "print( line )  # aloud"),
        ("elif not text:\n        text = \"empty\"\n    else:\n        text += \".\"",
         "else:\n        if not text:\n            text = \"empty\"\n        else:\n            text += \".\""),
    ],
    ids=["docstring", "layout", "elif"],
)  # fmt: skip
def test_the_same_code_has_no_changes(old: str, new: str) -> None:
    assert old in READ
    assert changes(READ, READ.replace(old, new)) == {}


def test_each_function_has_its_own_changes() -> None:
    before = """
        LIMIT = 3

        class Shop:
            def open(self):
                def key(a=1):
                    return a
                return key

            def close(self):
                raise OSError
    """
    after = before.replace("a=1", "a=2").replace("LIMIT = 3", "LIMIT = 4")
    assert changes(before, after) == {
        "__module__": [],
        "Shop.open.key": ["line 6: the default of `a` was 1 and is 2 now"],
    }


def test_a_function_that_is_gone_is_named() -> None:
    before = "def f():\n    x = 1\n\ndef g():\n    pass\n"
    gone = changes(before, "def g():\n    pass\n")
    assert gone["f"] == ["`f`, which was in line 1, is gone"]


def test_a_new_function_has_no_changes() -> None:
    assert changes("def g(): pass", "def f(): pass\ndef g(): pass") == {"__module__": []}


def test_an_equal_branch_elsewhere_does_not_hide_one_that_is_gone() -> None:
    before = "def f(a, b):\n    if a:\n        return 1\n    if b:\n        return 1\n"
    found = changes(before, "def f(a, b):\n    if a or b:\n        return 1\n")
    assert len(found["f"]) == 2
    assert "`return 1`, which was in line 5, is gone" in found["f"] or found["f"][-1].startswith(
        "`return 1`"
    )


CODE = b"def f(x):\n    return x  # one\n"


@pytest.mark.parametrize(
    "after",
    [
        CODE,
        b'def f(x):\n    """Say."""\n    return x\n',
        b'"""A module."""\n\ndef f(x):\n    return x\n',
        b"def f(x):\n\n\n    return (x)\n",
    ],
)
def test_only_docstrings_changed(after: bytes) -> None:
    assert only_docstrings_changed(CODE, after)


def test_a_body_of_only_a_docstring_may_become_pass() -> None:
    assert only_docstrings_changed(
        b'def f():\n    """A."""\n', b'def f():\n    """B."""\n    pass\n'
    )


@pytest.mark.parametrize(
    "after",
    [
        b"def f(x):\n    return x + 1\n",
        b'def f(x):\n    x\n    """No docstring."""\n    return x\n',
        b"def f(x, y):\n    return x\n",
        b"def f(x:\n    return x\n",
    ],
)
def test_code_changed(after: bytes) -> None:
    assert not only_docstrings_changed(CODE, after)


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


@pytest.mark.parametrize(
    ("before", "syntax"),
    [
        ('def f():\n    """Text\n\n{0}', ["string", "string", "keyword"]),
        ('"""\nText\n"""\n{0}', ["keyword", "string", "string"]),
        ('x = f"""\n{{a}}\n\n{0}', ["string", "string", "keyword"]),
        ("", ["", "", ""]),
    ],
)
def test_a_hunk_has_the_syntax_of_its_place_in_the_file(before: str, syntax: list[str]) -> None:
    hunk = 'return\n"""\nreturn'
    lines = hunk.replace("\n", "\n ")
    shown = diff_lines(f"@@ -4,3 +4,3 @@\n {lines}\n", before and before.format(hunk))
    assert [line.parts[1].syntax for line in shown[1:]] == syntax


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
