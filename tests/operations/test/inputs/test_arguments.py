"""With what a function is called: documentation, the project's own calls, use, names and types."""

from pathlib import Path

import pytest

from remora.operations.test.inputs.arguments import candidate_calls, invented_calls
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


def subject(source: str, node: str = "f", path: str = "mod.py") -> TargetFunction:
    found = find_target(path, source.encode(), node, lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


def calls_of_total(tree: Path) -> list[CallInput]:
    files = {"shop.py": SHOP, "README.md": README, "CHANGES.md": README, "bills.py": CALLER}
    for name, text in files.items():
        (tree / name).write_text(text)
    return candidate_calls(subject(SHOP, "Cart.total", "shop.py"), ProjectExamples(ToolTree(tree)))


def test_documentation_comes_first_and_invented_values_last(tmp_path: Path) -> None:
    found = calls_of_total(tmp_path)
    assert found[0] == CallInput(
        call="Cart('Eve').total()", imports=("from shop import Cart",), source="docstring"
    )
    sources = [each.source for each in found]
    assert sources == sorted(sources, key=["docstring", "documentation", "call", "value"].index)
    assert set(sources) == {"docstring", "documentation", "call", "value"}


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
    calls = [call for source, _, call, _ in found if source == "call"]
    assert calls == ["cart.total(RATE)"] * 2  # with `add` before it and without; not of `unknown`


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


def invented(source: str, node: str = "f") -> list[str]:
    found = invented_calls(subject(source, node), ProjectExamples(ToolTree(Path("/nonexistent"))))
    return [each.call for each in found]


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("year: int", ["f(2024)", "f(2023)"]),
        ("email: str", ["f('ann@example.com')"]),
        ("title: str | None", ["f('The Old Man and the Sea')"]),
        ("a: Literal['r', 'w']", ["f('r')", "f('w')"]),
        ("a: bool = False", ["f()", "f(a=False)", "f(a=True)"]),
        ("year: int, *, ratio: float", ["f(2024, ratio=0.5)"]),
        ("", ["f()"]),
        ("a", []),  # nothing shows what it takes
        ("a: str", []),  # any text would say nothing
        ("a: int", []),
        ("a: 'list[int]'", []),
        ("a: dict[str, int]", []),
        ("*a", []),
    ],
)
def test_by_type_and_name(signature: str, expected: list[str]) -> None:
    found = invented(f"def f({signature}):\n    return 1\n")
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a > 7", "f(8)"),
        ("return a < LIMIT", "f(14)"),
        ("return a in ('r', 'w')", "f('w')"),
        ("return UNITS[a]", "f('km')"),
        ("return a in UNITS", "f('km')"),
        ("return a.startswith('#')", "f('#text')"),
        ("return a.split('|')[0]", "f('red|green')"),
        ("return re.fullmatch(r'(\\w+)@(?P<host>.+)', a)", "f('apple@example.com')"),
        ("return [x.lower() for x in a]", "f(['pear', 'apple'])"),
        ("return a['year'] + a['count']", "f({'year': 2024, 'count': 3})"),
        ("return a(1)", "f(lambda x: x * 2)"),
        ("return datetime.strptime(a, '%d.%m.%Y')", "f('17.05.2024')"),
    ],
)
def test_by_use(body: str, expected: str) -> None:
    assert expected in invented(
        f"LIMIT = 14\nUNITS = {{'km': 1000, 'm': 1}}\n\n\ndef f(a):\n    {body}\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "def f(path, other):\n    return path[:2] < other[:2]",
        "def f(path):\n    return path.nodes",
        "def f(match):\n    return match['regex_name']",
        "def f(matches):\n    return [each['token'] for each in matches]",
    ],
)
def test_a_name_or_a_length_alone_is_no_evidence(source: str) -> None:
    assert invented(source + "\n") == []


def test_an_object_is_made_first() -> None:
    source = "class Odd:\n    def __init__(self, title):\n        self.t = title\n\n    def f(self):\n        return self.t\n"
    (found,) = invented_calls(
        subject(source, "Odd.f"), ProjectExamples(ToolTree(Path("/nonexistent")))
    )
    assert (found.setup, found.call) == (("odd = Odd('The Old Man and the Sea')",), "odd.f()")


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


SET_UP = """
import unittest

from shop import Cart


class TestCart(unittest.TestCase):
    def setUp(self):
        self.cart = Cart("Ann")

    def test_add(self):
        self.cart.add("pear", 2)
        assert self.cart.prices == [2]
"""


def test_objects_of_test_cases_and_arguments_of_siblings(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP + "\n    def remove(self, what):\n        return what\n")
    (tmp_path / "test_shop.py").write_text(SET_UP)
    target = subject((tmp_path / "shop.py").read_text(), "Cart.remove", "shop.py")
    found = candidate_calls(target, ProjectExamples(ToolTree(tmp_path)))
    calls = [each for each in found if each.source == "sibling"]
    assert ("cart = Cart('Ann')",) in [each.setup for each in calls]
    assert {each.call for each in calls} == {"cart.remove('pear')"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("text.strip().lstrip('/')", "f('/text')"),
        ("text.lower().split('=')", "f('key=value')"),
        ("text in MARKS", "f('*')"),
    ],
)
def test_what_a_text_is_searched_for_comes_before_vague_values(
    tmp_path: Path, body: str, expected: str
) -> None:
    source = f"MARKS = frozenset(' *_')\ndef f(text):\n    return {body}\n"
    examples = ProjectExamples(ToolTree(tmp_path))
    assert invented_calls(subject(source), examples)[0].call == expected


def test_numbers_are_in_the_range_of_the_parameters_name() -> None:
    source = (
        "def days(year, month):\n"
        "    if month in (1, 3, 5):\n"
        "        return 31\n"
        "    return 29 if month == 2 and year % 400 == 0 else 28\n"
    )
    found = invented_calls(subject(source, "days"), ProjectExamples(ToolTree(Path("/nonexistent"))))
    calls = [one.call for one in found]
    assert "days(2023, 2)" in calls
    assert not [call for call in calls if "401" in call or ", 0)" in call]


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


def test_a_class_whose_constructor_takes_its_own_type_gets_no_endless_calls() -> None:
    source = "class Box:\n    def __init__(self, owner: 'Box'):\n        self.owner = owner\n\n"
    source += "    def name_of(self, box: 'Box'):\n        return box.owner\n"
    examples = ProjectExamples(ToolTree(Path("/nonexistent")))
    assert invented_calls(subject(source, "Box.name_of"), examples) == []
