"""Text files are read and edited without changing what was not meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.tools.file_tree import TEXT_LIMIT


def test_a_text_is_read_without_its_mark(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_bytes(b"\xef\xbb\xbfx = '\xc3\xa9'\r\n")

    assert call("read_text", "a.py") == "x = 'é'\r\n"


def test_what_is_not_utf8_says_where(tree: Path, refusal: Callable[..., str]) -> None:
    (tree / "a.py").write_bytes(b"x = 1\ny = '\xff'\n")

    assert refusal("read_text", "a.py") == "a.py: not UTF-8 (line 2)"
    assert "not UTF-8" in refusal("edit_text", "a.py", 1, "x = 1", "x = 2")
    assert (tree / "a.py").read_bytes() == b"x = 1\ny = '\xff'\n"


def test_a_file_beyond_the_limit_is_refused(tree: Path, refusal: Callable[..., str]) -> None:
    (tree / "big.txt").write_bytes(b"x" * (TEXT_LIMIT + 1))
    (tree / "full.txt").write_bytes(b"x\n" * (TEXT_LIMIT // 2))

    assert "larger" in refusal("read_text", "big.txt")
    assert "larger" in refusal("edit_text", "full.txt", 1, "x", "xx")
    assert "larger" in refusal("write_new_file", "new.txt", "x" * (TEXT_LIMIT + 1))


def test_places_of_a_file_are_shown_with_what_is_left_out(
    tree: Path, call: Callable[..., Any], refusal: Callable[..., str]
) -> None:
    (tree / "a.py").write_bytes(b"".join(b"%d\r\n" % number for number in range(1, 21)))

    assert call("show_lines", "a.py", [[9, 10], [-3, 2], [4, 5], [19, 99]], 9) == {
        "ref": "code",
        "path": "a.py",
        "lines": [1, 20],
        "text": "1\n2\n3\n4\n5\n... 3 lines ...\n9\n10\n... 8 lines ...\n19\n20",
        "focus": 9,
    }
    assert "focus" not in call("show_lines", "a.py", [[1, 1]])
    assert (
        refusal("show_lines", "a.py", [[30, 40]]) == "a.py: there are no lines 30 to 40; it has 20"
    )


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (b"a\nb\nc\n", (2, "b", "x"), b"a\nx\nc\n"),
        (b"a\nb\nc\n", (2, "b", "x\ny"), b"a\nx\ny\nc\n"),
        (b"a\nb\nc\n", (2, "b", "x\n"), b"a\nx\nc\n"),
        (b"a\nb\nc\n", (2, "b", ""), b"a\n\nc\n"),
        (b"a\nb\nc\n", (2, "b", None), b"a\nc\n"),
        (b"a\nb", (2, "b", "x\ny"), b"a\nx\ny"),
        (b"a\nb", (2, "b", None), b"a"),
        (b"a\n", (1, "a", None), b""),
        (b"a\r\nb\r\n", (1, "a", "x\ny"), b"x\r\ny\r\nb\r\n"),
        (b"a\r\nb\nc\n", (2, "b", "x\ny"), b"a\r\nx\ny\nc\n"),
        (b"a\rb\r", (2, "b", "x"), b"a\rx\r"),
        (b"\xef\xbb\xbfa\n", (1, "a", "x"), b"\xef\xbb\xbfx\n"),
        (b"a\x0cb\xe2\x80\xa8c\nd\n", (2, "d", "x"), b"a\x0cb\xe2\x80\xa8c\nx\n"),
    ],
)
def test_one_line_is_replaced(
    tree: Path,
    call: Callable[..., Any],
    before: bytes,
    edit: tuple[int, str, str | None],
    after: bytes,
) -> None:
    (tree / "a.py").write_bytes(before)

    call("edit_text", "a.py", *edit)

    assert (tree / "a.py").read_bytes() == after


def test_a_line_that_is_not_as_expected_is_left_and_shown(
    tree: Path, refusal: Callable[..., str]
) -> None:
    (tree / "a.py").write_text("a\nb\n")

    assert refusal("edit_text", "a.py", 2, "c", "x") == (
        "a.py:2: the line is not as expected; found 'b'"
    )
    assert refusal("edit_text", "a.py", 2, "  b", "x") == (
        "a.py:2: the line is not as expected; it begins with 0 white space characters, not 2: 'b'"
    )
    assert refusal("edit_text", "a.py", 2, "b ", "x") == (
        "a.py:2: the line is not as expected; it ends with 0 white space characters, not 1: 'b'"
    )
    assert "the file has 2 lines" in refusal("edit_text", "a.py", 3, "", "x")
    assert "the file has 2 lines" in refusal("edit_text", "a.py", 0, "", "x")
    assert (tree / "a.py").read_text() == "a\nb\n"


def test_an_edit_keeps_the_files_mode(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "run.py").write_text("a\n")
    (tree / "run.py").chmod(0o750)

    call("edit_text", "run.py", 1, "a", "b")

    assert (tree / "run.py").stat().st_mode & 0o777 == 0o750


@given(
    st.lists(st.text("ab é\x0c", max_size=4), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.data(),
)
def test_every_other_line_stays_as_it_was(
    tree: Path,
    call: Callable[..., Any],
    lines: list[str],
    ending: str,
    closed: bool,
    data: st.DataObject,
) -> None:
    if not closed and not lines[-1]:
        lines.append("z")
    content = ending.join(lines) + (ending if closed else "")
    (tree / "a.txt").write_bytes(content.encode())
    line = data.draw(st.integers(1, len(lines)))

    call("edit_text", "a.txt", line, lines[line - 1], "new")

    lines[line - 1] = "new"
    expected = ending.join(lines) + (ending if closed else "")
    assert (tree / "a.txt").read_bytes() == expected.encode()


def test_a_new_file_is_written_once(
    tree: Path, call: Callable[..., Any], refusal: Callable[..., str]
) -> None:
    assert call("write_new_file", "tests/test_a.py", "é\n") == {
        "path": "tests/test_a.py",
        "bytes": 3,
    }

    assert (tree / "tests/test_a.py").read_bytes() == b"\xc3\xa9\n"
    assert "exists" in refusal("write_new_file", "tests/test_a.py", "other")
    assert "UTF-8" in refusal("write_new_file", "bad.py", "\ud800")


def test_files_are_listed_by_pattern(tree: Path, call: Callable[..., Any]) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).touch()

    assert call("list_files", "**/*.py") == ["a.py", "src/b.py", "src/deep/c.py"]
    assert call("list_files", "src/*.py") == ["src/b.py"]


def test_python_is_parsed_into_nodes(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_text(
        'class A:\n    """Doc."""\n    def f(self) -> int:\n        return 1\n'
    )
    (tree / "bad.py").write_text("x = 1\ndef (\n")

    good, bad = call("parse_python", "a.py"), call("parse_python", "bad.py")

    assert (good["ok"], good["error"]) == (True, None)
    assert [node["qualname"] for node in good["nodes"]] == ["__module__", "A", "A.f"]
    assert (good["nodes"][2]["line_start"], good["nodes"][2]["line_end"]) == (3, 4)
    assert (bad["ok"], bad["line"], bad["nodes"]) == (False, 2, [])
    assert bad["error"]


@pytest.mark.parametrize(
    "comment",
    ["# noqa", "#noqa: F401", "# type: ignore", "# pyright: ignore[a]", "# pylint: disable=b"],
)
def test_lines_that_silence_findings_are_refused(
    tree: Path, call: Callable[..., Any], comment: str
) -> None:
    source = "import a\nimport b  # noqa: F401\n"
    (tree / "a.py").write_text(source)

    refused = call("replace_lines", "a.py", 1, 1, f"import a  {comment}")
    assert refused["error"] == "a comment silences findings; leave it with a reason instead"
    assert (tree / "a.py").read_text() == source

    assert call("replace_lines", "a.py", 2, 2, "import c  # noqa: F401")["error"] == ""
