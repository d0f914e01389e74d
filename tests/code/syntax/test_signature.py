"""Headers have the text that `ast.unparse` gives them."""

import ast
import copy
from collections.abc import Iterable
from pathlib import Path

import pytest

from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.signature import unparse_header
from tests.code.corpus import PACKAGES, library, package, tree_of


def assert_same(node: DefinitionNode) -> None:
    header = copy.copy(node)
    header.body, header.decorator_list = [], []
    assert unparse_header(node) == ast.unparse(header).removesuffix(":")


def assert_same_in(paths: Iterable[Path]) -> None:
    for path in paths:
        for node in ast.walk(tree_of(path.read_bytes()) or ast.Module([], [])):
            if isinstance(node, DefinitionNode):
                assert_same(node)


@pytest.mark.parametrize(
    "header",
    [
        "def f()",
        "async def f(a, /, b: int=1, *c: str, d='x', e, **f) -> list[int]",
        "def f(a, b, /)",
        "def f(*, a=-1, b=..., c=b'x', d=None) -> dict[str, tuple[int, ...]]",
        "def f(a: x.y | None='\\n\"', b: 'A'=(), c=(1,), d=[1, (2, 3)], e={})",
        "def f(a=b(c, d=1, **e), f=a[b[c]].d) -> A | B | C",
        "def f(a=1 .real, b=(-1).real, c=(b := 1), d=u'x', e=1e999, f=(lambda: 0))",
        "def f(a: x[1,], *b: *c)",
        "class A",
        "class A(B, c.D[E], metaclass=F, **g)",
        "class A(*b)",
    ],
)
def test_unusual_headers(header: str) -> None:
    (node,) = ast.parse(f"{header}: pass").body
    assert isinstance(node, DefinitionNode)
    assert_same(node)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_standard_library_and_packages() -> None:
    assert_same_in((*library(step=3), *(path for name in PACKAGES for path in package(name))))
