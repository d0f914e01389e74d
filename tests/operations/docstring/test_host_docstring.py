"""What code tells of itself: suggestions for docstrings, and the door through which they are written."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
CART = '''
class Cart:
    """What a customer wants to buy."""

    currency: str

    def add(self, item, count=1):
        if count < 1:
            raise ValueError("a count is at least one")

    def find(self, name):
        for item in self.items:
            if item.name == name:
                return item
        return None

    def total(self):
        return sum(line.price for line in self.lines)

    def is_empty(self) -> bool:
        return not self.lines

    def close(self):
        self.closed = True

    @property
    def owner(self) -> str:
        return self.session.user

    # Sends the cart to the cashier. Takes a while.
    def send(self, host, port):
        connect(host, port)

    def frobnicate(self):
        return 1

    def load(self, path, encoding=None, follow_links=False, mode="r"):
        if encoding is None:
            encoding = "utf-8"
        if mode == "r" or mode == "rb":
            return open(path, mode, encoding=encoding)
        parts = key.split()
        if not parts:
            raise KeyError(f"no {mode} part")
'''


@pytest.fixture
def plan(tree: Path, call: Call) -> Callable[..., dict[str, Any]]:
    def planned(node: str, source: str = CART, **more: Any) -> dict[str, Any]:
        (tree / "a.py").write_text(source)
        made: dict[str, Any] = call("docstring_plan", "a.py", node, **more)
        return made

    return planned


@pytest.mark.parametrize(
    ("node", "summary"),
    [
        ("Cart.close", "Set `closed` to `True`."),
        ("Cart.is_empty", "Return True if `not lines`."),
        ("Cart.send", "Sends the cart to the cashier."),
        ("Cart.total", "Return the sum of `line.price` for each `line` of `lines`."),
    ],
)
def test_first_lines(plan: Callable[..., Any], node: str, summary: str) -> None:
    assert plan(node)["summaries"][0] == summary


@pytest.mark.parametrize("node", ["Cart.frobnicate", "Cart.find", "Cart.owner", "Cart.add"])
def test_a_name_alone_makes_no_first_line(plan: Callable[..., Any], node: str) -> None:
    assert plan(node)["summaries"] == []


@pytest.mark.parametrize(
    ("node", "outcome"),
    [
        ("Cart.total", "The sum of `line.price` for each `line` of `lines`."),
        ("Cart.is_empty", "True if `not lines`."),
        ("Cart.owner", ""),
    ],
)
def test_outcomes(plan: Callable[..., Any], node: str, outcome: str) -> None:
    assert plan(node)["texts"]["outcome"] == outcome


def test_parameters_and_exceptions(plan: Callable[..., Any]) -> None:
    texts = plan("Cart.load")["texts"]
    assert texts["parameters"] == {
        "encoding": "`'utf-8'` if None.",
        "mode": "One of `'r'` or `'rb'`.",
    }
    assert texts["raises"] == {"KeyError": "No `mode` part."}
    assert plan("Cart.load")["open"] == [
        "parameters.path",
        "parameters.follow_links",
        "outcome",
    ]


EXITS = """
def f(a, b):
    if a:
        return 1
    raise ValueError
def g(a):
    try:
        return int(a)
    except TypeError:
        raise ValueError("odd") from None
def h(a):
    try:
        raise KeyError(a)
    except LookupError:
        pass
def i(a):
    with suppress(OSError):
        raise OSError
    raise NotImplementedError
def j(a):
    local = a + 1
    if local > 2:
        raise ValueError
    for b in a:
        raise IndexError("too many of them")
"""


@pytest.mark.parametrize(
    ("node", "raises"),
    [
        ("f", {"ValueError": "If `not a`."}),
        ("g", {"ValueError": "If `int(a)` raises `TypeError`."}),
        ("h", {}),
        ("i", {}),
        ("j", {"IndexError": "Too many of them."}),
    ],
)
def test_docstring_functions_return_the_expected_texts(
    plan: Callable[..., Any], node: str, raises: dict[str, str]
) -> None:
    assert plan(node, EXITS)["texts"]["raises"] == raises


def test_classes(plan: Callable[..., Any]) -> None:
    source = """
        @dataclass
        class Order:
            customer: str
            lines: list
        class Color(Enum):
            RED = 1
            DARK_BLUE = 2
        class StockError(Exception):
            pass
        def order(): raise StockError
        class Plain:
            def f(self): pass
    """
    source = textwrap.dedent(source)
    assert plan("Order", source)["summaries"] == []
    assert plan("Color", source)["summaries"] == ["One of `RED` or `DARK_BLUE`."]
    assert plan("StockError", source)["summaries"] == ["Raised by `order`."]
    assert plan("Plain", source)["summaries"] == []


def test_other_docstrings_and_callers_tell(plan: Callable[..., Any], tree: Path) -> None:
    doc = '"""Do.\n\n    :param ctx: Where it happens.\n    """'
    source = "".join(f"def f{n}(ctx):\n    {doc}\n" for n in range(3))
    source += "def find(ctx, kind): return ctx\n"
    (tree / "b.py").write_text("find(c, kind='book')\n")
    made = plan("find", source, callers=["b.py", "gone.py"])
    assert made["style"] == "rest"
    assert made["texts"]["parameters"] == {
        "ctx": "Where it happens.",
        "kind": "For example `'book'`.",
    }


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


WRONG = [
    ({"summary": "Two\nlines."}, "one line"),
    ({"summary": "x" * 90}, "90 characters"),
    ({"summary": 'Quotes """ in it.'}, "quotes"),
    ({"summary": 3}, "texts"),
    ({"summary": "Fine.", "outcome": "x" * 300}, "one line"),
]


@pytest.mark.parametrize(("texts", "said"), WRONG)
def test_a_text_that_does_not_fit_is_refused(
    tree: Path, refusal: Callable[..., str], texts: dict[str, Any], said: str
) -> None:
    (tree / "a.py").write_text(CART)
    assert said in refusal("write_docstring", "a.py", "Cart.close", texts)
    assert (tree / "a.py").read_text() == CART


def test_sections_that_the_projects_rules_refuse_are_left_out(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text(CART)
    (tree / "ruff.toml").write_text('lint.select = ["D410", "D413"]\n')
    texts = {"summary": "Add.", "raises": {"ValueError": "If `count < 1`."}}
    assert call("write_docstring", "a.py", "Cart.add", texts)["state"] == "added"
    assert '        """Add."""\n' in (tree / "a.py").read_text()


def test_a_finding_that_would_stay_is_not_a_docstring(
    tree: Path, refusal: Callable[..., str]
) -> None:
    (tree / "a.py").write_text("class A:\n    pass\n")
    (tree / "ruff.toml").write_text('lint.select = ["PIE790"]\n')
    assert "PIE790" in refusal("write_docstring", "a.py", "A", {"summary": "Nothing."})
