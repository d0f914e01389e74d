"""Types as text: one form for equal types, from annotations, from ty and from docstrings."""

import pytest

from remora.operations.types.facts.docstring_types import docstring_types
from remora.operations.types.facts.signatures import Callee, parse_callee
from remora.operations.types.source.terms import canonical, from_checker, same


@pytest.mark.parametrize(
    ("annotation", "term"),
    [
        ("typing.Optional[t.List['Order']]", "list[Order] | None"),
        ("Union[None, int, str]", "int | str | None"),
        ("collections.abc.Callable[[int], None]", "Callable[[int], None]"),
        ("Tuple[int, ...]", "tuple[int, ...]"),
        ("'Dict[str, int | None]'", "dict[str, int | None]"),
        ("Literal['a', 'b']", "Literal['a', 'b']"),
        ("1 + 1", ""),
    ],
)
def test_equal_annotations_have_one_form(annotation: str, term: str) -> None:
    assert canonical(annotation) == term


@pytest.mark.parametrize(
    ("shown", "term"),
    [
        ('Literal["a", "b"] | None', "str | None"),
        ("tuple[Literal[1], list[Unknown]]", "tuple[int, list[Unknown]]"),
        ("str & ~AlwaysFalsy", "str"),
        ("<class 'Order'>", "type[Order]"),
        ("Self@save | None", "Self | None"),
        ("(x) -> Unknown", "Unknown"),
        ("bound method Order.save() -> None", "Unknown"),
        ("GeneratorType[int, None, None]", "Generator[int, None, None]"),
        ("Literal[Color.RED]", "Color"),
        ("float* | None", "float | None"),
        ("chain[bool]", "Iterator[bool]"),
    ],
)
def test_types_of_the_checker_are_widened(shown: str, term: str) -> None:
    assert from_checker(shown) == term


def test_members_of_a_union_have_no_order() -> None:
    assert same("int | str | None", "str | int | None")
    assert not same("int", "int | None")


def test_callables_of_the_checker_are_read() -> None:
    shown = "bound method Order.add(item: Item, count: int = 1, *rest) -> Unknown"
    callee = parse_callee(shown)
    assert callee is not None
    assert (callee.owner, callee.name, callee.returns) == ("Order", "add", "Unknown")
    assert [tuple(each) for each in callee.parameters] == [
        ("item", "Item"), ("count", "int"), ("*rest", "")
    ]  # fmt: skip
    assert parse_callee("<class 'shop.Order'>") == Callee("Order", "__init__", (), "")
    assert parse_callee("Overload[(a: int) -> int, (a: str) -> str]") is None


SPHINX = """Pay.

:param int count: how many
:param name: of whom
:type name: str or None
:rtype: list[str]
"""
GOOGLE = """Pay.

Args:
    count (int, optional): How many.
    name (:class:`Name`): Of whom.

Returns:
    bool: True if it worked.
"""
NUMPY = """Pay.

Parameters
----------
count : int, optional
    How many.
name : dict of strings by customer
    Of whom.
"""


@pytest.mark.parametrize(
    ("docstring", "types"),
    [
        (SPHINX, {"count": "int", "name": "str | None", "return": "list[str]"}),
        (GOOGLE, {"count": "int", "name": "Name", "return": "bool"}),
        (NUMPY, {"count": "int"}),
        (":param key: str, bytes or None", {}),
        (":param names: list of strings, or None", {}),
    ],
)
def test_docstrings_name_types(docstring: str, types: dict[str, str]) -> None:
    assert docstring_types(docstring) == types
