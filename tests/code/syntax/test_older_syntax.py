"""Syntax of newer versions is replaced at its place, so that any Python can parse the file."""

import ast

import pytest

from remora.code.syntax.error_recovery import root_of
from remora.code.syntax.older_syntax import in_older_syntax

REPLACED = {
    "def f[T: int, **P](x: T) -> T: pass": "def f             (x: T) -> T: pass",
    "class A[T = int](B[T]): pass": "class A         (B[T]): pass",
    "type A[T] = list[T]": "0  ; A    = list[T]",
    "class A[\n    T,\n](B):\n    pass": "class A\\\n     \\\n (B):\n    pass",
    'f"a {names["b"]!r:>{x}}"': '[    names["b"]    ,x ,]',
    'f"{"|".join(names)}{x or"y"=}" "z"': '[  "|".join(names), x or"y" ,    ]',
    'f"{f"{f"{f()}"}"}{x:{a}.{b}}"': '[  [  f"{f()}",], x ,a  ,b ,]',
    "f'{\n  x  # y\n  :%d}' * 2": "[  \n  x  # y\n     ,] * 2",
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
    assert in_older_syntax(text, root_of(text), 11) == older.encode()
    assert in_older_syntax(text, root_of(text), 15) == text
    ast.parse(older)


@pytest.mark.parametrize("text", KEPT)
def test_other_syntax_stays(text: str) -> None:
    assert in_older_syntax(text.encode(), root_of(text.encode()), 11) == text.encode()
