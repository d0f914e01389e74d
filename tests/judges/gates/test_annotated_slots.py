"""Annotated parameters and results of a file."""

import pytest

from remora.judges.gates.annotated_slots import slots_of


def test_quoted_types_are_unquoted_except_in_literals() -> None:
    source = b"""\
class C:
    def f(self, a: "list['int']", b: Literal["x"]) -> "Annotated['C', 'y']": ...
"""
    places = {slot.name: place for slot, place in slots_of("a.py", source).items()}
    assert {name: place.expression for name, place in places.items()} == {
        "a": "list[int]",
        "b": "Literal['x']",
        "return": "C",
    }
    assert {(place.function_name, place.classes) for place in places.values()} == {("f", ("C",))}


@pytest.mark.parametrize("annotation", ["-" * 9_000 + "1", ".".join("x" * 9_000)])
def test_types_that_are_nested_too_deeply_are_left_out(annotation: str) -> None:
    source = f'def f(a: "{annotation}", b: int): ...\n'
    assert [slot.name for slot in slots_of("a.py", source.encode())] == ["b"]
