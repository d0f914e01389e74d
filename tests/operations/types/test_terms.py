"""Types as text: one form for equal types, from annotations and from ty."""

import pytest

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
