"""Nodes: patterns, summaries, complexities, names that linters miss."""

import ast
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from radon.visitors import ComplexityVisitor

from remora.code.extract import parse_module
from remora.code.file_analysis import read_facts
from remora.code.syntax.definitions import DefinitionNode, find_definitions
from remora.code.syntax.hidden_uses import hidden_uses
from remora.code.syntax.node_patterns import file_pattern, match_nodes
from remora.code.syntax.nodes import Module, node_summary, own_lines
from remora.errors import NotFound
from remora.ids import NodeKey, node_key
from remora.text import nearest
from tests.code.corpus import PACKAGES, library, package, tree_of


def parsed(text: str) -> Module:
    found = parse_module("pkg/a.py", text.encode())
    assert isinstance(found, Module)
    return found


def test_summaries() -> None:
    module = parsed('"""All of it."""\ndef f(x: int) -> str:\n    """Say x.\n\n    More."""\n')
    assert [node_summary(node) for node in module.nodes] == [
        "module pkg/a.py: All of it. (5 lines)",
        "def f(x: int) -> str: Say x. (4 lines)",
    ]
    assert node_summary(parsed("class A: pass").nodes[1]) == "class A (1 line)"


@given(name=st.integers(1, 400), doc=st.integers(1, 400))
def test_a_summary_keeps_its_limit_and_its_line_count(name: int, doc: int) -> None:
    node = parsed(f"def {'f' * name}():\n    '{'d' * doc}'").nodes[1]
    summary = node_summary(node)
    assert len(summary) <= 300
    assert summary.endswith(" (2 lines)")
    assert ("…" in summary) == (len(f"def {'f' * name}(): {'d' * doc} (2 lines)") > 300)


def test_lines_of_an_unknown_node() -> None:
    with pytest.raises(NotFound, match=r"node:pkg/a\.py:gone"):
        own_lines(parsed("x = 1"), node_key("pkg/a.py", "gone"))


KEYS = [
    NodeKey(f"node:{name}")
    for name in (
        *("src/a.py:__module__", "src/a.py:load", "src/a.py:Loader.load", "src/b.py:load"),
        *("src/b.py:load#2", "odd[1].py:run", "odd1.py:run", "x/c.py:f", "y/c.py:f"),
    )
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("load", ["src/a.py:load", "src/b.py:load"]),
        ("src/a.py:load", ["src/a.py:load"]),
        ("node:src/a.py:load", ["src/a.py:load"]),
        ("Loader.*", ["src/a.py:Loader.load"]),
        ("src/a.py:*", ["src/a.py:__module__", "src/a.py:load", "src/a.py:Loader.load"]),
        ("load#?", ["src/b.py:load#2"]),
        ("odd[1].py:run", ["odd[1].py:run"]),
        ("odd[12].py:run", ["odd1.py:run"]),
        ("a.py", ["src/a.py:__module__"]),
        ("b.py:load", ["src/b.py:load"]),
        ("c.py:f", []),
        (".py:load", []),
        ("LOAD", []),
        ("oad", []),
        ("[", []),
    ],
)
def test_patterns(pattern: str, found: list[str]) -> None:
    assert [key.removeprefix("node:") for key in match_nodes(KEYS, pattern)] == found


def test_the_pattern_of_a_file_whose_name_looks_like_a_glob() -> None:
    keys = [NodeKey("node:a[1].py:f"), NodeKey("node:a1.py:f"), NodeKey("node:a[1].py:__module__")]
    assert match_nodes(keys, file_pattern("a[1].py")) == (keys[0], keys[2])


def test_the_nearest_names() -> None:
    assert nearest("laod", KEYS, 2) == ["node:src/a.py:load", "node:src/b.py:load"]
    assert nearest("src/b.py:laod", KEYS)[0] == "node:src/b.py:load"
    assert nearest("LOADER.LOAD", KEYS)[0] == "node:src/a.py:Loader.load"
    for name in ("zzzzzz", "rows", "src/a.py:nosuch", "src/nosuch.py"):
        assert nearest(name, KEYS) == [], "not even in the same folder or file"
    assert nearest("docstrin", ["lint", "docstring"]) == ["docstring"]
    assert len(nearest("load", KEYS, 1)) == 1
    alike = [f"a{number}.py:load{number}" for number in range(3000)]
    assert nearest("load", [*alike, *KEYS], 1) == nearest("load", KEYS, 1)


def by_radon(node: DefinitionNode) -> int:
    """Return the complexity of a definition by radon."""
    visitor = ComplexityVisitor(off=False)
    visitor.visit(node)
    (block,) = visitor.functions + visitor.classes
    return int(block.complexity)


def compared_complexities(source: bytes) -> int:
    tree = tree_of(source)
    if tree is None:
        return 0
    definitions = find_definitions(tree, "a.py")
    expected = {each.key: by_radon(each.node) for each in definitions}
    facts = read_facts("a.py", source)
    assert {node.key: node.complexity for node in facts.nodes[1:]} == expected
    return len(expected)


def assert_complexities(paths: Iterable[Path], least: int) -> None:
    assert sum(compared_complexities(path.read_bytes()) for path in paths) >= least


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", 1),
        ("if a: pass\nelif b: pass\nelse: pass", 3),
        ("for a in b: pass\nelse: pass", 3),
        ("while a: pass", 2),
        ("async for a in b: pass", 2),
        ("try: pass\nexcept A: pass\nexcept B: pass\nelse: pass\nfinally: pass", 4),
        ("try: pass\nexcept* A: pass", 1),
        ("with a and b: pass", 2),
        ("assert a and b, c if d else e", 2),
        ("return a and b and c or d", 4),
        ("return a if b else c", 2),
        ("return [a for a in b if c if d for e in f]", 5),
        ("return lambda: a or b", 2),
        ("match a:\n case 1 if b and c: pass\n case [d]: pass\n case _: pass", 4),
        ("match a:\n case 1: pass", 2),
        ("match a:\n case b: pass", 1),
        ("def g(a=b or c):\n if a: pass", 1),
        ("@(a or b)\ndef g() -> (c or d): pass", 1),
        ("class A(b or c):\n if a: pass", 1),
        ("x: int = c or d", 2),
        ("if (a := b or c): pass", 3),
    ],
)
def test_branches(body: str, expected: int) -> None:
    source = f"async def f():\n{textwrap.indent(body, ' ')}".encode()
    assert read_facts("a.py", source).nodes[1].complexity == expected
    compared_complexities(source)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", 1),
        ("x = a or b", 2),
        ("def f(self): pass", 2),
        ("def f(self): pass\ndef g(self):\n if a: pass", 3),
        ("if a:\n def f(self): pass\nelse:\n async def f(self): pass", 3),
        ("def f(self):\n def g():\n  if a: pass", 2),
        ("class B:\n def f(self):\n  if a: pass", 1),
    ],
)
def test_a_class_has_the_mean_of_its_methods(body: str, expected: int) -> None:
    source = f"class A:\n{textwrap.indent(body, ' ')}".encode()
    assert read_facts("a.py", source).nodes[1].complexity == expected
    compared_complexities(source)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_standard_library() -> None:
    assert_complexities(library(step=8), least=5_000)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PACKAGES)
def test_installed_packages(name: str) -> None:
    assert_complexities(package(name, step=2), least=500)


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
