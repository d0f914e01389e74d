"""Types as text: one form for equal types."""

import pytest

from remora.judges.types.terms import canonical, same


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


def test_members_of_a_union_have_no_order() -> None:
    assert same("int | str | None", "str | int | None")
    assert not same("int", "int | None")
