"""Top-level statements are found in any version of Python's syntax."""

import ast
import itertools
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pym.declarations import top_level_statements

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
CLAUSES = ("else", "elif", "except", "finally")


def starts(source: str) -> set[int]:
    return {span.first for span in top_level_statements(source)}


def starts_by_ast(source: str) -> set[int]:
    decorated = [(node, getattr(node, "decorator_list", [])) for node in ast.parse(source).body]
    return {
        min([node.lineno, *(decorator.lineno for decorator in decorators)])
        for node, decorators in decorated
    }


def agrees_with_ast(source: str) -> bool:
    lines = source.split("\n")
    found = {line for line in starts(source) if not lines[line - 1].startswith(CLAUSES)}
    # a second statement after `;` has no line of its own
    return found == starts_by_ast(source)


@pytest.mark.parametrize("folder", ["json", "email", "asyncio", "unittest"])
def test_agrees_with_the_parser_on_the_standard_library(folder: str) -> None:
    for path in sorted((STANDARD_LIBRARY / folder).glob("*.py")):
        assert agrees_with_ast(path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_agrees_with_the_parser_on_all_of_the_standard_library() -> None:
    checked = 0
    for path in sorted(STANDARD_LIBRARY.glob("*.py")):
        assert agrees_with_ast(path.read_text(encoding="utf-8")), path
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    "expression",
    [
        'f"{d["a"]}"',
        'f"{"nested" + f"{"deeper"}"}"',
        'f"{x!r:>{width}}"',
        'f"{{not a field"',
        'f"{\n    x  # a comment with } and "\n}"',
        "f'''{\nx\n}\n'''",
        r'f"\N{BULLET} {x}"',
        r'rf"\{x}"',
        '"\\\n"',
        "'''a ' b '' c'''",
        r'br"\\"',
        "{1: (2, [3,\n4])}",
    ],
)
def test_a_string_of_any_python_hides_what_is_in_it(expression: str) -> None:
    first = f"a = {expression}"
    source = f"{first}\nb = 1\n"

    assert [span.first for span in top_level_statements(source)] == [1, first.count("\n") + 2]


def test_decorators_belong_to_what_they_decorate() -> None:
    spans = top_level_statements("@a\n# why\n@b(\n  1)\nasync def f():\n    pass\nx = 1\n")

    assert [(span.first, span.last) for span in spans] == [(1, 6), (7, 8)]


@given(st.text(alphabet=st.sampled_from("abf'\"{}()[]:#\\\n @=rN"), max_size=60))
def test_any_text_is_cut_into_lines_without_loss(source: str) -> None:
    spans = top_level_statements(source)

    for before, after in itertools.pairwise(spans):
        assert before.last + 1 == after.first
    if spans:
        lines = source.split("\n")
        text = "\n".join(span.text for span in spans)
        assert text == "\n".join(lines[spans[0].first - 1 :])


def test_deep_nesting_ends() -> None:
    assert len(top_level_statements('f"{' * 5000)) == 1
