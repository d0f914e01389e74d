"""The definition pass and the lowering pass find the same definitions."""

import ast

import pytest

from remora.code.file_analysis import analyze_file
from remora.code.syntax.definitions import Definition, find_definitions
from tests.code.corpus import library, tree_of

ARMS = b"""
import first; import second
try:
    def f(): import inner
    import a
except OSError:
    def f(): ...
    class C:
        def f(self): ...
except ValueError:
    def f(): ...
else:
    def f():
        def f(): ...
        def f(): import c
    import b
finally:
    def f(): ...
match x:
    case 1:
        def f(): ...
    case _:
        class C: ...
def __module__(): ...
"""


def plain(
    definitions: list[Definition], imports: list[ast.Import | ast.ImportFrom]
) -> list[object]:
    positions = [(each.lineno, each.col_offset) for each in imports]
    return [*((each.node.lineno, *each[1:]) for each in definitions), *positions]


def lowered_and_searched(source: bytes) -> tuple[list[object], list[object]]:
    tree = tree_of(source)
    assert tree is not None
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    imports.sort(key=lambda each: (each.lineno, each.col_offset))
    analysis = analyze_file("a/b.py", source)
    return (
        plain(analysis.definitions, analysis.imports),
        plain(find_definitions(tree, "a/b.py"), imports),
    )


def test_arms_of_a_try_are_numbered_in_source_order() -> None:
    lowered, searched = lowered_and_searched(ARMS)
    assert lowered == searched
    names = [each.qualname for each in analyze_file("a/b.py", ARMS).definitions]
    assert names[:2] == ["f", "f#2"]
    assert [name for name in names if name.startswith("f#4")] == ["f#4", "f#4.f", "f#4.f#2"]
    assert names[-1] == "__module__#2"


@pytest.mark.slow
def test_real_files() -> None:
    for path in library(29):
        source = path.read_bytes()
        if tree_of(source) is not None:
            lowered, searched = lowered_and_searched(source)
            assert lowered == searched, path
