"""Annotated parameters and results of a file."""

import pytest

from remora.judges.gates.annotated_slots import slots_of


@pytest.mark.parametrize("annotation", ["-" * 9_000 + "1", ".".join("x" * 9_000)])
def test_types_that_are_nested_too_deeply_are_left_out(annotation: str) -> None:
    source = f'def f(a: "{annotation}", b: int): ...\n'
    assert [slot.name for slot in slots_of("a.py", source.encode())] == ["b"]
