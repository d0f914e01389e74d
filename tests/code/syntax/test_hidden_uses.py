"""Tests of the names that linters miss."""

import ast

import pytest

from remora.code.syntax.hidden_uses import hidden_uses, marked_regions


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


def test_a_marked_region_uses_what_it_names_and_what_it_imports() -> None:
    text = "import re, sys\n###{standalone\nfrom abc import ABC\nx = 're'\n###}\ny = 'sys'\n"
    assert used(text) >= {"re", "ABC"}
    assert "sys" not in used(text)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_marked_regions_are_counted_in_lines(ending: str) -> None:
    text = ending.join(["a", "###{one", "b", "###}", "c\f", "###{two", "d", "###}", "e"])
    assert marked_regions(text) == [range(2, 5), range(6, 9)]


def test_a_marked_region_without_an_end_reaches_to_the_end_of_the_file() -> None:
    assert marked_regions("a\n###{one\nb\n") == [range(2, 5)]


@pytest.mark.parametrize("text", ["a\n###}\n", "# ###{one\na\n###}\n", "x = {}  ###{\n", ""])
def test_other_comments_are_no_marks(text: str) -> None:
    assert marked_regions(text) == []
