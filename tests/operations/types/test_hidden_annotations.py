"""Annotations that are hidden, and compared with those written in their place."""

from textwrap import dedent

import pytest

from remora.operations.restorer import HiddenSlot, compare
from remora.operations.types.hidden_annotations import RESTORER

CART = """\
from decimal import Decimal
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from shop.models import Order


class Cart:
    size: int = 0

    def add(self, order: "Order", count: int = 1) -> None:
        self.total: Decimal = order.price * count

    def first(self) -> Optional[str]:
        return None
"""
BARE = """\
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class Cart:
    size: int = 0

    def add(self, order, count=1):
        self.total: Decimal = order.price * count

    def first(self):
        return None
"""
TEXTS = {"shop/cart.py": CART, "shop/__init__.py": "", "tests/test_cart.py": "def f(a: int): ...\n"}


def slots() -> list[HiddenSlot]:
    return list(RESTORER.find(TEXTS))


def test_annotations_of_parameters_and_results_are_found_but_not_those_of_tests() -> None:
    assert [(each.qualname, each.part, each.text) for each in slots()] == [
        ("Cart.add", "parameter order", "'Order'"),
        ("Cart.add", "parameter count", "int"),
        ("Cart.add", "return", "None"),
        ("Cart.first", "return", "Optional[str]"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a: int): ...  # noqa: ANN201\n",
        "from typing import overload\n@overload\ndef f(a: int) -> int: ...\n",
    ],
)
def test_annotations_that_the_operation_would_not_write_are_not_found(text: str) -> None:
    assert RESTORER.find({"a.py": text}) == []


def test_annotations_of_files_with_a_stub_are_not_found() -> None:
    assert RESTORER.find({"a.py": "def f(a: int): ...\n", "a.pyi": ""}) == []


def test_all_annotations_take_imports_with_them_and_leave_attributes() -> None:
    assert RESTORER.hide(TEXTS, slots()) == {**TEXTS, "shop/cart.py": BARE}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("from m import A  # ours\n", ""),
        ("from m import A as A\n", ""),
        ("from m import A\n", "from a import A\n"),
        ("from m import A\n__all__ = ['A']\n", ""),
        ("from m import A\nx = []  # type: list[A]\n", ""),
    ],
)
def test_imports_that_may_be_needed_elsewhere_stay(text: str, other: str) -> None:
    texts = {"a.py": f"{text}def f(a: A): ...\n", "b.py": other}
    hidden = RESTORER.hide(texts, RESTORER.find(texts))
    assert hidden["a.py"] == f"{text}def f(a): ...\n"


def test_a_block_for_type_checkers_stays() -> None:
    head = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
    texts = {"a.py": f"{head}    from m import A\ndef f(a: 'A'): ...\n"}
    hidden = RESTORER.hide(texts, RESTORER.find(texts))
    assert hidden["a.py"] == f"{head}    pass\ndef f(a): ...\n"


def test_of_several_imported_names_the_needed_ones_stay() -> None:
    texts = {"a.py": "from m import A, B\ndef f(a: A): return B\n"}
    hidden = RESTORER.hide(texts, RESTORER.find(texts))
    assert hidden["a.py"] == "from m import B\ndef f(a): return B\n"


@pytest.mark.parametrize(
    ("people", "written", "outcome"),
    [
        ("int", "int", "exact"),
        ("dict[str,int]", "dict[str, int]", "exact"),
        ("int", "", "left"),
        ("int", "str", "different"),
        ("Optional[int]", "int | None", "equivalent"),
        ('"Order"', "Order", "equivalent"),
        ("typing.List[int]", "list[int]", "equivalent"),
        ("dict", "dict[Any, Any]", "equivalent"),
        ("float | int", "float", "equivalent"),
        ("Key", "int | str", "equivalent"),
        ("Iterable[Key]", "Iterable[str | int]", "equivalent"),
        ("Sequence[int]", "list[int]", "different"),
        ("Callable[[int], str]", "Callable[[int], str]", "exact"),
        ("Callable", "Callable[..., Any]", "equivalent"),
    ],
)
def test_types_are_compared_as_a_type_checker_sees_them(
    people: str, written: str, outcome: str
) -> None:
    head = "from typing import Union\nKey = Union[int, str]\n"
    before = {"a.py": f"{head}def f(a: {people}): ...\n"}
    after = {"a.py": head + f"def f(a{': ' * bool(written)}{written}): ...\n"}
    (slot,) = RESTORER.find(before)
    (found,) = compare(RESTORER, [slot], after)
    assert (found.outcome, found.text) == (outcome, written)


def test_hidden_texts_parse_whatever_the_layout() -> None:
    text = dedent('''\
        import typing as t

        def f(
            a: t.Any, *, b: "int" = (1), c: t.Callable[[int], str] = lambda x: x,
        ) -> (
            int
        ):
            """Doc."""

        def g(é: int = 1) \\
                -> None: ...
        ''')
    hidden = RESTORER.hide({"a.py": text}, RESTORER.find({"a.py": text}))["a.py"]
    compile(hidden, "a.py", "exec")
    assert RESTORER.find({"a.py": hidden}) == []
