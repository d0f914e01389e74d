"""Lines are counted as Python counts them, which `str.splitlines` does not."""

import ast

from remora.code.edit.text_lines import split_lines


def test_line_numbers_are_those_of_the_syntax_tree() -> None:
    body = "a = 1\n\x0c\nb = '\u2028\x85\x1c'\r\nc = 3"
    lines = split_lines(body)
    found = [lines[statement.lineno - 1] for statement in ast.parse(body).body]
    assert found == ["a = 1", "b = '\u2028\x85\x1c'", "c = 3"]
    assert "".join(split_lines(body, keepends=True)) == body
