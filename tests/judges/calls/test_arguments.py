"""With what a function is called: documentation, cases of tests, boundaries of branches."""

from pathlib import Path
from typing import Any

import pytest

from remora.judges.calls.boundaries import boundary_values
from remora.judges.calls.case import CallInput
from remora.judges.calls.project_examples import ProjectExamples, documented_calls
from remora.judges.calls.target_function import TargetFunction, find_target
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

TESTS = """
from shop import Cart

RATE = 0.2


def test_total():
    cart = Cart("Ann")
    cart.add("pear", 2)
    assert cart.total(RATE)


def test_bill(owner):
    assert Cart(owner).total(7)
"""


def subject(source: str, node: str = "f", path: str = "mod.py") -> TargetFunction:
    found = find_target(path, source.encode(), node, lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


def calls_of_total(tree: Path) -> list[CallInput]:
    files = {"shop.py": SHOP, "README.md": README, "CHANGES.md": README, "bills.py": CALLER}
    files["test_shop.py"] = TESTS
    for name, text in files.items():
        (tree / name).write_text(text)
    return documented_calls(subject(SHOP, "Cart.total", "shop.py"), ProjectExamples(ToolTree(tree)))


def test_documentation_comes_first_and_other_code_is_no_example(tmp_path: Path) -> None:
    found = calls_of_total(tmp_path)
    assert found[0] == CallInput(
        call="Cart('Eve').total()", imports=("from shop import Cart",), source="docstring"
    )
    sources = [each.source for each in found]
    assert sources == sorted(sources, key=["docstring", "documentation"].index)
    assert set(sources) == {"docstring", "documentation"}


def test_each_call_brings_what_it_needs(tmp_path: Path) -> None:
    found = {
        (each.source, each.setup, each.call, each.imports) for each in calls_of_total(tmp_path)
    }
    readme = ("cart = shop.Cart('Joe')", "cart.add('fig', price=3)")
    assert ("documentation", readme, "cart.total()", ("import shop",)) in found
    module = ("cart = Cart('Ann')", "cart.add('pear', price=2)")
    assert ("documentation", module, "cart.total()", ("from shop import Cart",)) in found


def test_a_model_is_shown_the_calls_in_tests_too(tmp_path: Path) -> None:
    calls_of_total(tmp_path)
    found = ProjectExamples(ToolTree(tmp_path)).calls_of(subject(SHOP, "Cart.total", "shop.py"))
    calls = {(each.setup, each.call) for each in found if each.source == "test"}
    made = ("RATE = 0.2", "cart = Cart('Ann')", "cart.add('pear', 2)")
    assert calls == {(made, "cart.total(RATE)")}


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
        ">>> import shop as s\n>>> s.Cart('Eve').total()\n0\n"
        ">>> s.pay(1)\n>>> iter = s.Cart('Ann')\n>>> iter.total()\n0\n>>> iter.total(tax=1)\n0\n"
    )
    (tmp_path / "shop.py").write_text("")
    target = subject(SHOP, "Cart.total", "shop.py")
    found = documented_calls(target, ProjectExamples(ToolTree(tmp_path)))
    shown = [one for one in found if one.source == "documentation"]
    setups = [one.setup for one in shown if "tax" in one.call]
    assert setups == [("iter = s.Cart('Ann')",)]
    assert {one.imports for one in shown} == {("import shop as s",)}


def test_a_variable_with_the_name_of_the_function_that_makes_it_is_no_example(
    tmp_path: Path,
) -> None:
    doc = '"""\n    >>> cart = cart()\n    >>> f(cart)\n    """'
    source = f"def cart(): ...\n\n\ndef f(one):\n    {doc}\n    return one\n"
    assert documented_calls(subject(source), ProjectExamples(ToolTree(tmp_path))) == []


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("from shop import text\ntext.load('a')", ["text.load('a')"]),
        ("import shop\nshop.load('a')", ["shop.load('a')"]),
        ("from shop import load\nload('a')", ["load('a')"]),
        ("from shop import files\nfiles.load('a')", []),
        ("from shop.files import load\nload('a')", []),
        ("files = open('a')\nfiles.load('a')", []),
    ],
)
def test_a_function_of_another_module_is_a_namesake(
    tmp_path: Path, code: str, calls: list[str]
) -> None:
    (tmp_path / "README.md").write_text(f"```python\n{code}\n```\n")
    exists = {"shop/__init__.py"}.__contains__
    target = find_target("shop/text.py", b"def load(text):\n    return text[0]\n", "load", exists)
    assert isinstance(target, TargetFunction)
    found = documented_calls(target, ProjectExamples(ToolTree(tmp_path)))
    assert [each.call for each in found] == calls


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (">>> double(2)\n4\n", "4"),
        (">>> list(double(2))\n[4]\n", "[4]"),
        (">>> print(double('a'))\naa\n", "'aa'"),
        (">>> double(2)\n<object>\n", ""),
        (">>> double(2)\nTraceback (most recent call last):\nValueError\n", ""),
        ("```python\nassert double(2) == 4\n```\n", "4"),
        ("```python\ndouble(2)  # => 4\n```\n", "4"),
        ("```python\ndouble(2)  # a comment\n```\n", ""),
        ("```python\nassert double(2) == 4 + double(0)\n```\n", "4 + double(0)"),
        ("```python\nprint(double(2))\n```\n", ""),
    ],
)
def test_the_result_that_an_example_shows(tmp_path: Path, text: str, shown: str) -> None:
    (tmp_path / "README.md").write_text(text)
    target = subject("def double(n):\n    return n * 2\n", "double")
    assert documented_calls(target, ProjectExamples(ToolTree(tmp_path)))[0].shown == shown


def values(code: str, shown: Any, **others: str) -> list[object]:
    subject = find_target("a.py", code.encode(), "f", lambda _: False)
    assert isinstance(subject, TargetFunction)
    return boundary_values(subject, "x", {"x": repr(shown), **others})


@pytest.mark.parametrize(
    ("condition", "shown", "expected"),
    [
        ("x >= 50", 7, [49, 50, 51]),
        ("50 > x", 7, [49, 50, 51]),
        ("0 < x <= 3", 7, [-1, 0, 1, 2, 3, 4]),
        ("x >= 50", "a", []),
        ("x == 'left'", "right", ["left"]),
        ("x in ('left', 'right')", "right", ["left"]),
        ("x is None", "a", [None]),
        ("len(x) > 2", "abcd", ["a", "ab", "abc"]),
        ("len(x) > 2", [5], [[5, 5], [5, 5, 5]]),
        ("len(x) > 80", "abcd", []),
        ("x", "a", [""]),
        ("not x", [1], [[]]),
        ("y and x", 4, [0]),
        ("x", True, [False]),
        ("x", None, []),
        ("x > unknown", 4, []),
        ("x > 0", 7.5, [0.0]),
        ("x == 0", True, []),
        ("x > y", 7, [2, 3, 4]),
        ("x > LIMIT", 7, [49, 50, 51]),
        ("len(x) > limit", "ab", ["a", "aba"]),
        ("x.startswith(PREFIX)", "a", ["/a"]),
        ("x in SIDES", "a", ["left"]),
        ("x.strip().lower() == 'left'", "a", ["left"]),
        ("abs(x) > 50", 7, [49, 50, 51]),
        ("x.upper() == 'LEFT'", "a", []),
        ("y > 50", 7, []),
        ("x == 1.5", 2.0, [1.5]),
        ("x.startswith('/')", "a", ["/a"]),
        ("x.endswith('k')", "10", ["10k"]),
        ("x.endswith('k')", 10, []),
    ],
)
def test_values_on_both_sides_of_each_condition(condition: str, shown: Any, expected: Any) -> None:
    code = f"LIMIT = 50\nPREFIX = '/'\nSIDES = ['left', 3]\n\ndef f(x, y, limit=2):\n    if {condition}:\n        return 1\n"
    assert values(code, shown, y="3") == expected


def test_an_argument_of_unknown_value_or_none_is_no_limit() -> None:
    code = "def f(x, y=None):\n    return x == y or x > y\n"
    assert values(code, 7) == []
    assert values(code, 7, y="limit()") == []


def test_a_name_of_the_same_value_is_the_parameter() -> None:
    code = "def f(x):\n    size = int(x)\n    rest = size - 1\n    return size > 3 or rest > 80\n"
    assert values(code, 7) == [2, 3, 4]


def test_the_default_says_nothing_beyond_a_call_without_it() -> None:
    code = "def f(x=3, strict=False):\n    return x > 3 if not strict else x\n"
    assert values(code, 7) == [2, 4]


def test_conditions_of_inner_functions_are_others() -> None:
    code = "def f(x):\n    def g(x):\n        return x > 3\n    return g(x) if x else 0\n"
    assert values(code, 7) == [0]
