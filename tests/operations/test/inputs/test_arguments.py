"""With what a function is called: documentation and its own tests."""

from pathlib import Path

import pytest

from remora.operations.test.inputs.arguments import candidate_calls
from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.target_function import TargetFunction, find_target
from remora.tools.tree import ToolTree

SHOP = '''
"""Carts.

>>> from shop import Cart
>>> cart = Cart("Ann")
>>> cart.add("pear", price=2)
>>> cart.total()
2
"""


class Cart:
    """A cart.

    >>> Cart("Bob").total(tax=0.5)
    0
    """

    def __init__(self, owner):
        self.prices = []

    def add(self, what, price):
        self.prices.append(price)

    def total(self, tax=0):
        """The sum.

        >>> print(Cart("Eve").total())
        """
        return sum(self.prices) * (1 + tax)
'''
README = """
# Shop

```python
import shop

NAMES = ["pear", "apple"]
cart = shop.Cart("Joe")
for name in NAMES:
    cart.add(name, 1)
cart.add("fig", price=3)
print(cart.total())
```

Not Python: cart.total(tax=9)
"""
CALLER = """
from shop import Cart

RATE = 0.2


def bill(owner):
    cart = Cart("Zoe")
    cart.add("kiwi", 5)
    unknown = Cart(owner)
    return cart.total(RATE) + unknown.total(7)
"""

SET_UP = """
import unittest

from shop import Cart


class TestCart(unittest.TestCase):
    def setUp(self):
        self.cart = Cart("Ann")

    def test_total(self):
        self.cart.add("pear", 2)
        self.cart.total(0.2)

    def test_bill(self):
        self.cart.total(rate())
"""


def subject(source: str, node: str = "f", path: str = "mod.py") -> TargetFunction:
    found = find_target(path, source.encode(), node, lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


def calls_of_total(tree: Path) -> list[CallInput]:
    files = {"shop.py": SHOP, "README.md": README, "CHANGES.md": README, "bills.py": CALLER}
    files["test_shop.py"] = SET_UP
    for name, text in files.items():
        (tree / name).write_text(text)
    return candidate_calls(subject(SHOP, "Cart.total", "shop.py"), ProjectExamples(ToolTree(tree)))


def test_documentation_comes_first_and_other_code_is_no_example(tmp_path: Path) -> None:
    found = calls_of_total(tmp_path)
    assert found[0] == CallInput(
        call="Cart('Eve').total()", imports=("from shop import Cart",), source="docstring"
    )
    sources = [each.source for each in found]
    assert sources == sorted(sources, key=["docstring", "documentation", "test"].index)
    assert set(sources) == {"docstring", "documentation", "test"}


@pytest.mark.parametrize(
    ("exported", "is_documented"),
    [
        ("from .files import load", False),
        ("from .text import load", True),
        ("from .text.lines import load", True),
        ("from .api import load", True),
        ("def load(text): ...", False),
        ("", True),
    ],
)
def test_documentation_is_about_the_exported_function(
    tmp_path: Path, exported: str, is_documented: bool
) -> None:
    code = "def load(text):\n    return text.split()\n"
    files = {"shop/__init__.py": exported + "\n", "shop/text/lines.py": code}
    files["shop/api.py"] = "from .text.lines import load\n"
    files["README.md"] = "```python\nimport shop\n\nshop.load('a b')\n```\n"
    for name, text in {**files, "shop/text/__init__.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    place = ToolTree(tmp_path)
    target = find_target("shop/text/lines.py", code.encode(), "load", place.files.exists)
    assert isinstance(target, TargetFunction)
    sources = {each.source for each in candidate_calls(target, ProjectExamples(place))}
    assert ("documentation" in sources) is is_documented


def test_each_call_brings_what_it_needs(tmp_path: Path) -> None:
    found = {
        (each.source, each.setup, each.call, each.imports) for each in calls_of_total(tmp_path)
    }
    readme = ("cart = shop.Cart('Joe')", "cart.add('fig', price=3)")
    assert ("documentation", readme, "cart.total()", ("import shop",)) in found
    module = ("cart = Cart('Ann')", "cart.add('pear', price=2)")
    assert ("documentation", module, "cart.total()", ("from shop import Cart",)) in found
    calls = {(setup, call) for source, setup, call, _ in found if source == "test"}
    made = "cart = Cart('Ann')"
    assert calls == {
        ((made,), "cart.total(0.2)"),
        ((made, "cart.add('pear', 2)"), "cart.total(0.2)"),
    }


def test_a_comprehension_over_literals_shows_its_calls(tmp_path: Path) -> None:
    source = 'def nth(n):\n    """\n    >>> [nth(x) for x in [2, 11]]\n    """\n    return n % 10\n'
    found = candidate_calls(subject(source, "nth"), ProjectExamples(ToolTree(tmp_path)))
    assert [each.call for each in found[:2]] == ["nth(2)", "nth(11)"]


def test_a_value_that_is_used_once_is_an_argument(tmp_path: Path) -> None:
    doc = '"""\n    >>> delta = timedelta(seconds=4)\n    >>> f(delta)\n    """'
    source = f"from datetime import timedelta\n\n\ndef f(delta):\n    {doc}\n    return delta * 2\n"
    found = candidate_calls(subject(source), ProjectExamples(ToolTree(tmp_path)))
    assert [(each.setup, each.call) for each in found] == [((), "f(timedelta(seconds=4))")]


def test_changes_of_objects_are_tried_and_left_out(tmp_path: Path) -> None:
    doc = '"""\n    >>> box = Box(1)\n    >>> box.height = 9\n    >>> f(box)\n    """'
    source = f"class Box: ...\n\n\ndef f(box):\n    {doc}\n    return box.width\n"
    found = candidate_calls(subject(source), ProjectExamples(ToolTree(tmp_path)))
    setups = [each.setup for each in found if each.source == "docstring"]
    assert setups == [("box = Box(1)",), ("box = Box(1)", "box.height = 9")]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("async def f():\n    return 1\n", "is not a plain function"),
        ("def f():\n    ...\n", "is not implemented yet"),
        ("def f():\n    raise NotImplementedError\n", "is not implemented yet"),
        ("import os\ndef f():\n    return os.getcwd()\n", "depends on where it runs"),
        ("def f(:\n", "line 1"),
    ],
)
def test_what_no_test_is_written_for(source: str, why: str) -> None:
    assert why in str(find_target("mod.py", source.encode(), "f", lambda _: False))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/mod.py", ("", "pkg.mod")),
        ("src/pkg/mod.py", ("src", "pkg.mod")),
        ("pkg/__init__.py", ("", "pkg")),
        ("lone.py", ("", "lone")),
    ],
)
def test_what_it_is_imported_as(path: str, expected: tuple[str, str]) -> None:
    there = {"pkg/__init__.py", "src/pkg/__init__.py"}
    found = find_target(path, b"def f():\n    return 1\n", "f", there.__contains__)
    assert isinstance(found, TargetFunction)
    assert (found.import_root, found.module) == expected


def test_examples_that_show_a_value_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "With `import shop as s`:\n\n>>> s.Cart('Eve').total()\n0\n"
        ">>> s.pay(1)\n>>> iter = s.Cart('Ann')\n>>> iter.total()\n0\n>>> iter.total(tax=1)\n0\n"
    )
    (tmp_path / "shop.py").write_text("")
    target = subject(SHOP, "Cart.total", "shop.py")
    found = candidate_calls(target, ProjectExamples(ToolTree(tmp_path)))
    shown = [one for one in found if one.source == "documentation"]
    made = "iter = s.Cart('Ann')"
    setups = [one.setup for one in shown if "tax" in one.call]
    assert setups == [(made,), ("s.pay(1)", made)], "the call of a module may change something"
    assert {one.imports for one in shown} == {("import shop as s",)}


def test_a_call_of_a_module_before_an_example_may_count(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "```python\nimport sizes\nsizes.use('km')\nprint(sizes.length(5000))\n```\n"
    )
    source = "def use(unit): ...\n\n\ndef length(metres): return metres\n"
    found = candidate_calls(
        subject(source, "length", "sizes.py"), ProjectExamples(ToolTree(tmp_path))
    )
    setups = [each.setup for each in found if each.source == "documentation"]
    assert setups == [(), ("sizes.use('km')",)]
