"""The fast writer gives the same text as `ast.unparse`."""

import ast
import copy
from collections.abc import Iterable
from pathlib import Path

import pytest

from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.fast_unparse import unparse_header
from tests.code.corpus import PACKAGES, library, package, tree_of


def unparsed(node: DefinitionNode) -> str:
    header = copy.copy(node)
    header.body, header.decorator_list = [], []
    return ast.unparse(header).removesuffix(":")


def headers(paths: Iterable[Path]) -> tuple[int, int]:
    """Return the number of headers checked, and of those that need `ast.unparse`."""
    seen = left = 0
    for path in paths:
        for node in ast.walk(tree_of(path.read_bytes()) or ast.Module([], [])):
            if isinstance(node, DefinitionNode):
                quick = unparse_header(node)
                assert quick is None or quick == unparsed(node), path
                seen, left = seen + 1, left + (quick is None)
    return seen, left


@pytest.mark.parametrize(
    "header",
    [
        "def f()",
        "async def f(a, /, b: int=1, *c: str, d='x', e, **f) -> list[int]",
        "def f(a, b, /)",
        "def f(*, a=-1, b=..., c=b'x', d=None) -> dict[str, tuple[int, ...]]",
        "def f(a: x.y | None='\\n\"', b: 'A'=(), c=(1,), d=[1, (2, 3)], e={})",
        "def f(a=b(c, d=1, **e), f=a[b[c]].d) -> A | B | C",
        "class A",
        "class A(B, c.D[E], metaclass=F, **g)",
    ],
)
def test_headers_written_without_unparse(header: str) -> None:
    (node,) = ast.parse(f"{header}: pass").body
    assert isinstance(node, DefinitionNode)
    assert unparse_header(node) == header == unparsed(node)


@pytest.mark.parametrize(
    "header",
    [
        "def f(a=1 + 2)",
        "def f(a=1 .real)",
        "def f(a=(-1).real)",
        "def f(a=b | (c | d))",
        "def f(a=(b := 1))",
        "def f(a=u'x')",
        "def f(a=1e999)",
        "def f(a: x[1,])",
        "def f(*a: *b)",
        "def f(a=(lambda: 0))",
        "class A(*b)",
    ],
)
def test_headers_that_need_unparse(header: str) -> None:
    (node,) = ast.parse(f"{header}: pass").body
    assert isinstance(node, DefinitionNode)
    assert unparse_header(node) is None


@pytest.mark.slow
def test_a_part_of_the_standard_library() -> None:
    seen, left = headers(library(step=30))
    assert left < seen / 50


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_of_the_standard_library_and_packages() -> None:
    seen, left = headers((*library(step=3), *(path for name in PACKAGES for path in package(name))))
    assert left < seen / 50
