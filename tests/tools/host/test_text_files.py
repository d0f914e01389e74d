"""Host functions: text files, paths out of the tree, limits of time."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.tools.file_tree import TEXT_LIMIT
from remora.tools.host.declared_type_checker import ProjectChecker
from remora.tools.host.text_files import list_files
from remora.tools.ruff_fixes import ruff_check
from remora.tools.tree import ToolTree


def test_a_text_is_read_without_its_mark(tree: Path, call: Callable[..., Any]) -> None:
    (tree / "a.py").write_bytes(b"\xef\xbb\xbfx = '\xc3\xa9'\r\n")

    assert call("read_text", "a.py") == "x = 'é'\r\n"


def test_what_is_not_utf8_says_where(tree: Path, refusal: Callable[..., str]) -> None:
    (tree / "a.py").write_bytes(b"x = 1\ny = '\xff'\n")

    assert refusal("read_text", "a.py") == "a.py: not UTF-8 (line 2)"
    assert "not UTF-8" in refusal("edit_text", "a.py", 1, "x = 1", "x = 2")
    assert (tree / "a.py").read_bytes() == b"x = 1\ny = '\xff'\n"


@pytest.mark.slow
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


WITH_A_PATH: dict[str, list[Any]] = {
    "read_text": [],
    "edit_text": [1, "root", "x"],
    "write_new_file": ["text"],
    "parse_python": [],
    "file_findings": [["__module__"]],
}


def plant(tree: Path, kind: str) -> str:
    """A path that must be refused, and what lies behind it."""
    outside = tree.parent / "secret.py"
    outside.write_text("import os\n")
    if kind == "link":
        (tree / "link.py").symlink_to(outside)
        return "link.py"
    if kind == "folder link":
        (tree / "out").symlink_to(tree.parent)
        return "out/secret.py"
    if kind == "fifo":
        os.mkfifo(tree / "pipe.py")
        return "pipe.py"
    if kind == "folder":
        (tree / "folder.py").mkdir()
        return "folder.py"
    named = {"absolute": str(outside), "up": "../secret.py", "inner up": "a/../../secret.py"}
    return {**named, "option": "-rf.py", "empty": "", "nul": "a\0.py"}[kind]


KINDS = [
    "link", "folder link", "fifo", "folder", "absolute", "up", "inner up", "option", "empty", "nul",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_A_PATH)
def test_a_path_that_leads_elsewhere_is_refused(
    tree: Path, refusal: Callable[..., str], name: str, kind: str
) -> None:
    path = plant(tree, kind)

    assert refusal(name, path, *WITH_A_PATH[name])
    assert (tree.parent / "secret.py").read_text() == "import os\n"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("folder", "empty")])
def test_ruff_is_started_on_no_such_path(
    tree: Path, refusal: Callable[..., str], kind: str
) -> None:
    assert refusal("ruff_check", [plant(tree, kind)])


def test_ruff_reports_nothing_that_a_link_in_a_folder_shows(
    tree: Path, call: Callable[..., Any]
) -> None:
    plant(tree, "link")
    plant(tree, "folder link")
    (tree / "own.py").write_text("import sys\n")

    found = call("ruff_check", ["."], ["F"])

    assert {finding["path"] for finding in found} == {"own.py"}


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../*"])
def test_a_pattern_stays_below_the_root(refusal: Callable[..., str], pattern: str) -> None:
    assert refusal("list_files", pattern)


@pytest.mark.parametrize("pattern", ["**/" * 20 + "x", "*" * 201])
def test_a_pattern_that_would_take_forever_is_refused(
    refusal: Callable[..., str], pattern: str
) -> None:
    assert "maximum" in refusal("list_files", pattern)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.git/config", ".agentfs/x"])
def test_version_control_and_recordings_are_not_written(
    tree: Path, refusal: Callable[..., str], path: str
) -> None:
    assert "tools must not change" in refusal("write_new_file", path, "x")
    assert not (tree / path).exists()


@pytest.mark.parametrize("rule", ["--fix", "F401,--fix", "", "F 401", "é"])
def test_a_rule_is_never_an_option(refusal: Callable[..., str], rule: str) -> None:
    assert "is not a rule code" in refusal("ruff_check", ["."], [rule])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read_text", [3]),
        ("read_text", []),
        ("read_text", ["a", "b"]),
        ("edit_text", ["a", "1", "x", "y"]),
        ("ruff_check", ["a.py"]),
        ("ruff_check", [["a.py"], "F"]),
    ],
)
def test_arguments_of_another_shape_are_refused(
    refusal: Callable[..., str], name: str, args: list[Any]
) -> None:
    assert refusal(name, *args).startswith(f"{name}: ")


def test_a_call_whose_time_is_over_ends_at_its_next_step(tree: Path) -> None:
    (tree / "a.py").write_text("x = 1\n")
    place = ToolTree(tree)

    with place.within(-1.0):  # over before it began
        for call in (lambda: list_files(place, "**/*"), lambda: ruff_check(place, ["a.py"])):
            with pytest.raises(HostError, match="not finished within"):
                call()


def test_the_next_call_has_its_own_time(tree: Path) -> None:
    (tree / "a.py").write_text("x = 1\n")
    place = ToolTree(tree)
    with pytest.raises(HostError), place.within(-1.0):
        list_files(place, "*")

    with place.within(60.0):
        assert 0 < place.left() <= 60
        assert list_files(place, "*") == ["a.py"]


@pytest.mark.parametrize("name", BUILT_IN.host_functions)
def test_no_call_may_take_forever(name: str) -> None:
    assert 0 < BUILT_IN.host_functions[name].seconds <= 600


def checker_that_runs(code: str) -> ProjectChecker:
    return ProjectChecker((sys.executable, "-c", code), "mypy 1", True, None, cpu=1)


@pytest.mark.slow
def test_a_checker_that_computes_for_long_is_ended_and_said_so(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="mypy 1 needs more than 1 s of processor time"):
        checker_that_runs("while True: pass").check(tmp_path, 50)


@pytest.mark.slow
def test_a_checker_that_waits_for_others_is_not_ended(tmp_path: Path) -> None:
    assert checker_that_runs("import time; time.sleep(1.5)").check(tmp_path, 50) == []
