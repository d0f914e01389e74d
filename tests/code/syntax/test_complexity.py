"""Complexities equal those of radon."""

import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from radon.visitors import ComplexityVisitor

from remora.code.file_analysis import read_facts
from remora.code.syntax.definitions import DefinitionNode, find_definitions
from tests.code.corpus import PACKAGES, library, package, tree_of


def by_radon(node: DefinitionNode) -> int:
    """Return the complexity of a definition by radon."""
    visitor = ComplexityVisitor(off=False)
    visitor.visit(node)
    (block,) = visitor.functions + visitor.classes
    return int(block.complexity)


def assert_same(source: bytes) -> int:
    tree = tree_of(source)
    if tree is None:
        return 0
    definitions = find_definitions(tree, "a.py")
    expected = {each.key: by_radon(each.node) for each in definitions}
    facts = read_facts("a.py", source)
    assert {node.key: node.complexity for node in facts.nodes[1:]} == expected
    return len(expected)


def assert_same_in(paths: Iterable[Path], least: int) -> None:
    assert sum(assert_same(path.read_bytes()) for path in paths) >= least


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
    assert_same(source)


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
    assert_same(source)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_standard_library() -> None:
    assert_same_in(library(step=8), least=5_000)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PACKAGES)
def test_installed_packages(name: str) -> None:
    assert_same_in(package(name, step=2), least=500)
