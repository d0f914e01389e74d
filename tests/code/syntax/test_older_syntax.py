"""Syntax of newer versions is replaced at its place, so that any Python can parse the file."""

import ast

import pytest

from remora.code.syntax.error_recovery import parse_with_recovery, root_of
from remora.code.syntax.older_syntax import in_older_syntax

REPLACED = {
    "def f[T: int, **P](x: T) -> T: pass": "def f             (x: T) -> T: pass",
    "class A[T = int](B[T]): pass": "class A         (B[T]): pass",
    "type A[T] = list[T]": "0  ; A    = list[T]",
    'f"{names["first"]} {one}"': 'f"{names[0000000]} {one}"',
    """f'{f'{x['y']}'}'""": "f'{00000000000}'",
    'rt"{name}"': 'rf"{name}"',
    "try: pass\nexcept A, B: pass": "try: pass\nexcept A| B: pass",
    "[*row for row in rows]": "[ row for row in rows]",
    "lazy import json": "0  ; import json",
    "lazy from os import path": "0  ; from os import path",
}
KEPT = ["[*rows]", "type = 1", "lazy = type", "print(*rows, 't')", "x = A[T]", "b'', u'', f'{x!r}'"]


@pytest.mark.parametrize(("newer", "older"), REPLACED.items())
def test_newer_syntax_is_replaced_at_its_place(newer: str, older: str) -> None:
    text = newer.encode()
    assert in_older_syntax(text, root_of(text)) == older.encode()
    assert ast.dump(parse_with_recovery(text)) == ast.dump(ast.parse(older))


@pytest.mark.parametrize("text", KEPT)
def test_other_syntax_stays(text: str) -> None:
    assert in_older_syntax(text.encode(), root_of(text.encode())) == text.encode()
