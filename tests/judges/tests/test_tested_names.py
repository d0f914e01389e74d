"""Which functions count as tested, by the names that tests use."""

import ast
from pathlib import Path

import pytest

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.code.syntax.source import parse_text
from remora.judges.tests.tested_names import TestedNames
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

SHOP = '''\
def total(prices):
    return _sum(rounded(prices))

def rounded(prices):
    return prices

def double(price):
    """Twice the price.

    >>> double(1)
    2
    """
    return 2 * price

class Cart:
    def restock(self, item):
        return RULES[item](self)

    def copy(self):
        return self

class Till:
    def restock(self):
        return 1

def sale(cart):
    return cart

RULES = {"sale": sale}
'''


def is_tested(root: Path, qualname: str, test: str, **files: str) -> bool:
    write(root, {"shop.py": SHOP, "tests/test_shop.py": test, **files})
    module, tree = parse_module("shop.py", SHOP.encode()), parse_text(SHOP)
    assert isinstance(module, Module)
    assert isinstance(tree, ast.Module)
    node = next(each for each in module.nodes if each.qualname == qualname)
    return TestedNames(ToolTree(root)).holds(node, tree)


@pytest.mark.parametrize(
    ("qualname", "test", "expected"),
    [
        ("total", "def test_it():\n    assert shop.total([1])\n", True),
        ("total", "@parametrize('f', [total])\ndef test_it(f): ...\n", True),
        ("total", "def total(): ...\n", False),
        ("total", "def test_total():\n    assert CALLS['total'](1)\n", True),
        ("rounded", "def test_it():\n    assert shop.total([1])\n", True),
        ("Cart.restock", "def test_it():\n    make().restock(1)\n", True),
        ("sale", "def test_it():\n    make().restock(1)\n", True),
        ("Cart.copy", "def test_it():\n    [1].copy()\n", False),
        ("Cart.copy", "from shop import Cart\n\ndef test_it():\n    Cart().copy()\n", True),
        ("Till.restock", "def test_it():\n    Cart().restock(1)\n", False),
        ("Till.restock", "def test_it(Cart, Till):\n    make(Cart, Till).restock(1)\n", True),
        ("double", "def test_it():\n    total()\n", False),
        ("double", "def test_it(price):\n    price.double()\n", False),
    ],
)
def test_names_in_tests(tmp_path: Path, qualname: str, test: str, expected: bool) -> None:
    assert is_tested(tmp_path, qualname, test) is expected


PYTEST = '[tool.pytest.ini_options]\naddopts = "--doctest-modules"\n'
SUITE = "import {0}, doctest\nload_tests = doctest.DocTestSuite({0})\n"
MAIN = "\n\nif __name__ == '__main__':\n    import doctest\n    doctest.testmod()\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({"pyproject.toml": PYTEST}, True),
        ({"Makefile": "test:\n\tpython -m doctest -v shop.py\n"}, True),
        ({"Makefile": "test:\n\tpython -m doctest README.md till.py\n"}, False),
        ({".github/workflows/ci.yml": "run: python -m shop\n", "shop.py": SHOP + MAIN}, True),
        ({".github/workflows/ci.yml": "run: python -m shop\n"}, False),
        ({"shop.py": SHOP + MAIN}, False),
        ({"noxfile.py": 's.run("sphinx-build", "-b", "doctest", "docs")\n'}, True),
        ({"docs/Makefile": "doctest:\n\tsphinx-build -b doctest\n"}, False),
        ({"tests/test_docs.py": SUITE.format("shop")}, True),
        ({"tests/test_docs.py": SUITE.format("workshop")}, False),
    ],
)
def test_examples_in_docstrings(tmp_path: Path, files: dict[str, str], expected: bool) -> None:
    assert is_tested(tmp_path, "double", "", **files) is expected
    assert not is_tested(tmp_path, "total", "", **files), "it has no example"


def test_examples_in_documents(tmp_path: Path) -> None:
    shown = {
        "README.md": "Text\n\n    >>> from shop import sale\n    >>> sale(\n    ...     1)\n    1\n"
    }
    tox = {"tox.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"}
    assert not is_tested(tmp_path, "sale", "", **shown)
    assert is_tested(tmp_path, "sale", "", **shown, **tox)
    assert not is_tested(tmp_path, "total", "", **shown, **tox)
