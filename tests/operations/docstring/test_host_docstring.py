"""What the code states, and the function through which docstrings are written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
CART = '''
class Cart:
    """What a customer wants to buy."""

    def add(self, item, count=1):
        if count < 1:
            raise ValueError("a count is at least one")

    def close(self):
        self.closed = True
'''


@pytest.fixture
def plan(tree: Path, call: Call) -> Callable[..., dict[str, Any]]:
    def planned(node: str, source: str = CART, **more: Any) -> dict[str, Any]:
        (tree / "a.py").write_text(source)
        made: dict[str, Any] = call("docstring_plan", "a.py", node, **more)
        return made

    return planned


def test_a_missing_docstring_needs_a_writer(plan: Callable[..., Any]) -> None:
    made = plan("Cart.add")
    assert made["state"] == "missing"
    assert made["problems"] == ["the docstring is missing"]
    assert made["sections"] == ["Args", "Raises"]
    assert not made["mends"]


@pytest.mark.parametrize(
    ("body", "sections"),
    [
        ("if a < 1:\n        return 1\n    raise ValueError", ["Args", "Returns", "Raises"]),
        ("for b in a:\n        if a is None:\n            raise ValueError", ["Args", "Raises"]),
        ("raise ValueError('a must be even')", ["Args", "Raises"]),
        ("try:\n        raise ValueError\n    except Exception:\n        pass", ["Args"]),
        ("try:\n        pass\n    except OSError:\n        raise ValueError", ["Args", "Raises"]),
        ("with suppress(ValueError):\n        raise ValueError", ["Args"]),
    ],
)
def test_exceptions_that_leave_the_function_are_described(
    plan: Callable[..., Any], body: str, sections: list[str]
) -> None:
    assert plan("f", f"def f(a, b):\n    {body}\n")["sections"] == sections


LISTING = '''
def f{n}(count):
    """Do {n}.

    Raises:
        ValueError: if ``count`` is odd
    """
    if count % 2:
        raise ValueError(count)
'''
PLAIN = '''
def find(count):
    """Do it."""
    if count < 1:
        raise KeyError(count)
'''


def test_a_missing_list_of_exceptions_is_left_to_a_writer_if_most_docstrings_have_one(
    plan: Callable[..., Any],
) -> None:
    assert plan("find", PLAIN)["state"] == "current"
    source = "".join(LISTING.format(n=n) for n in range(4)) + PLAIN
    made = plan("find", source)
    assert (made["state"], made["mends"]) == ("outdated", False)
    assert made["problems"] == ["exception KeyError is not described"]


NEW = """
def search(count):
    if count < 1:
        raise ValueError("a count is at least one")
    return [count]

class Basket:
    def size(self):
        return 3

    @property
    def total(self):
        return 3
"""


@pytest.mark.parametrize(
    ("others", "sections"),
    [
        ("", ["Args", "Returns", "Raises"]),
        (PLAIN, ["Returns"]),
        (PLAIN * 3 + LISTING.format(n=1), ["Returns"]),
        ("".join(LISTING.format(n=n) for n in range(2)) + PLAIN, ["Returns", "Raises"]),
    ],
    ids=["none", "no sections", "one of four with exceptions", "most with exceptions"],
)
def test_a_new_docstring_has_the_sections_that_most_others_have(
    plan: Callable[..., Any], others: str, sections: list[str]
) -> None:
    assert plan("search", others + NEW)["sections"] == sections


def test_the_file_decides_about_sections_before_its_folder(
    plan: Callable[..., Any], tree: Path
) -> None:
    described = 'def f{n}(count):\n    """Do it.\n\n    :param count: How many {n}.\n    """\n'
    (tree / "b.py").write_text("".join(described.format(n=n) for n in range(9)))
    assert ":param:" in plan("search", PLAIN + NEW)["sections"]
    assert ":param:" not in plan("search", PLAIN * 3 + NEW)["sections"]


def test_a_generator_may_describe_its_items_under_returns(plan: Callable[..., Any]) -> None:
    described = (
        'def f{n}(x):\n    """Do it.\n\n    Returns:\n        Some {n}.\n    """\n    yield {n}\n'
    )
    others = "".join(described.format(n=n) for n in range(3))
    new = "def items(count):\n    yield count\n"
    assert plan("items", others + new)["sections"] == ["Returns"]


def test_a_property_has_no_result_of_its_own(plan: Callable[..., Any]) -> None:
    assert plan("Basket.size", NEW)["sections"] == ["Returns"]
    assert plan("Basket.total", NEW)["sections"] == []


def test_an_inherited_docstring_is_none_that_is_missing(
    plan: Callable[..., Any], tree: Path
) -> None:
    (tree / "b.py").write_text('class B:\n    def f(self):\n        """Do."""\n')
    made = plan("A.f", "class A(B):\n    def f(self): return 1\n")
    assert made["state"] == "inherited"


def test_style_and_width_are_the_projects(plan: Callable[..., Any], tree: Path) -> None:
    (tree / "pyproject.toml").write_text(
        '[tool.ruff]\nline-length = 100\nlint.pydocstyle.convention = "numpy"\n'
    )
    made = plan("Cart.close")
    assert (made["style"], made["room"]) == ("numpy", 100 - 8 - 6)
    assert plan("Cart.close", style="google")["style"] == "google"


def test_a_docstring_is_written_and_replaced(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text(CART)
    for text in ("Send the goods.", "Send what was bought.\n\nNothing is added any more."):
        assert call("write_docstring", "a.py", "Cart.close", text) == ""
    expected = '"""Send what was bought.\n\n        Nothing is added any more.\n        """\n'
    body = "        self.closed"
    assert (tree / "a.py").read_text() == CART.replace(body, f"        {expected}{body}")


def test_a_text_that_does_not_fit_is_refused(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text(CART)
    assert "90 characters (maximum 65)" in call("write_docstring", "a.py", "Cart.close", "x" * 90)
    assert (tree / "a.py").read_text() == CART


def test_what_helps_to_write_a_docstring(tree: Path, call: Call) -> None:
    (tree / "lib").mkdir()
    (tree / "lib/__init__.py").write_text("")
    (tree / "lib/goods.py").write_text('def pack(a):\n    """Wrap it up.\n\n    Twice.\n    """\n')
    source = LISTING.format(n=1) + PLAIN + "\ndef own(a): pass\n"
    body = "    found = wrap(a) + find(a) + own(a)\n    if a > 2:\n        raise KeyError\n"
    new = f"from .goods import pack as wrap\n{source}\ndef send(a):\n{body}"
    (tree / "lib/shop.py").write_text(new)
    facts = call("related_facts", "lib/shop.py", "send")
    assert facts.pop("docstring of f1").startswith("Do 1.\n\nRaises:\n    ValueError: ")
    assert facts == {
        "public functions of the file with a docstring": "2 of 3",
        "docstring of find": "Do it.",
        "calls": {"pack": "Wrap it up.", "find": "Do it."},
        "exceptions": ["KeyError"],
    }


def test_code_that_the_meaning_of_a_method_depends_on(tree: Path, call: Call) -> None:
    body = "".join(f"    x = {number}\n" for number in range(20))
    source = (
        "def long(x):\n"
        + body
        + "class Cart:\n    limit = 3\n\n    def __init__(self):\n        self.names = []\n"
        "\n    def add(self, name):\n        self.names.append(long(name))\n        self.check()\n"
        "\n    def check(self):\n        pass\n"
    )
    (tree / "cart.py").write_text(source)
    assert call("related_lines", "cart.py", "Cart.add") == [[22, 33], [25, 26], [1, 12], [32, 33]]
    assert call("related_lines", "cart.py", "long") == []


def test_some_calls_by_name(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text("import b\n\nx = 1\ny = b.send(\n    x,\n)\nprint(y)\n")
    (tree / "c.py").write_text("send(1)\n" * 9)
    (tree / "d.py").write_text("send(\n")
    (first, *others) = call("calls_of", "Shop.send#2", [])
    code = "\nx = 1\ny = b.send(\n    x,\n)\nprint(y)"
    assert first == {"path": "a.py", "line": 4, "caller": "", "code": code}
    assert [each["path"] for each in others] == ["c.py"] * 4
    assert {each["path"] for each in call("calls_of", "send", ["c.py:__module__?"])} == {"c.py"}
