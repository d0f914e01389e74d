"""Replacements of a line that satisfy ruff, but delete what the line does."""

from pathlib import Path

import pytest

from remora.errors import HostError
from remora.operations.lint.line_problem import line_problem
from remora.tools.tree import ToolTree

SOURCE = """\
def pay(price: int) -> int:
    return pirce


def log(price: int) -> None:
    total = price * 2
    report(price)
    # a comment that is much too long
"""
NO_CODE = "a replacement is one line with code"
OTHER_TYPE = "a replacement keeps the type of the statement"
DROPPED = "a replacement drops no name or value"


def problem(folder: Path, line: int, replace: str) -> str:
    (folder / "mod.py").write_text(SOURCE)
    return line_problem(ToolTree(folder), "mod.py", line, replace)


@pytest.mark.parametrize(
    ("line", "replace"),
    [
        (2, "    return price"),
        (2, "    return 0  # free"),
        (5, "def log(price: float) -> None:"),
        (6, "    _ = price * 2"),
        (8, "    # a shorter comment"),
    ],
)
def test_other_code_of_the_same_type_may_take_its_place(
    tmp_path: Path, line: int, replace: str
) -> None:
    assert problem(tmp_path, line, replace) == ""


@pytest.mark.parametrize(
    ("line", "replace", "why"),
    [
        (2, "", NO_CODE),
        (2, "    ", NO_CODE),
        (2, "    pass", NO_CODE),
        (2, "    pass;  # done", NO_CODE),
        (2, "    ...", NO_CODE),
        (6, "    # total", NO_CODE),
        (2, "    return price\r    import os", NO_CODE),
        (2, "    return price\n", NO_CODE),
        (2, "    return price\u2028", NO_CODE),
        (2, "    return price\x0c", NO_CODE),
        (2, "    return price)", "the file would have a syntax error"),
        (2, "    raise KeyError", OTHER_TYPE),
        (2, "    return price; import os", OTHER_TYPE),
        (6, "    report(price)", OTHER_TYPE),
        (2, "    return None", DROPPED),
        (2, "    return", DROPPED),
        (6, "    total = price", DROPPED),
        (7, "    (...)", DROPPED),
    ],
)
def test_a_line_is_not_deleted_in_other_words(
    tmp_path: Path, line: int, replace: str, why: str
) -> None:
    assert problem(tmp_path, line, replace) == why


def test_a_line_that_is_not_there_cannot_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="there is no line 9"):
        problem(tmp_path, 9, "pass")
