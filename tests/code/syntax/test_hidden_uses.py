"""Tests of the names that linters miss."""

import ast

import pytest

from remora.code.syntax.hidden_uses import hidden_uses


def used(text: str) -> set[str]:
    return hidden_uses(text, ast.parse(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(x: 'List[Tree]') -> \"Token\": ...", {"List", "Tree", "Token"}),
        ("x: Optional['Tree'] = None", {"Tree"}),
        ("Kind: 'TypeAlias' = 'Union[int, Tree]'", {"TypeAlias", "Union", "int", "Tree"}),
        ("Kind: typing.TypeAlias = Union[int, 'Tree']", {"Tree"}),
        ("x = []  # type: List[Tree]", {"List", "Tree"}),
        ("x = Tree  # type: ignore[Other]", set()),
        ("x: Tree = 'Other'", set()),
        ("'''Tree'''\nx = 'Tree'", set()),
    ],
)
def test_types_in_strings_and_comments_use_names(text: str, names: set[str]) -> None:
    assert used(text) == names
