"""Cases that are too long for a reader."""

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.cases.case_lengths import is_too_long


@pytest.mark.parametrize(("lines", "expected"), [(14, False), (20, True)])
def test_the_lines_of_an_expected_text_are_counted(lines: int, expected: bool) -> None:
    text = "\n".join(["abc"] * lines)
    assert is_too_long(Case(call=f"f({lines})", value=repr(text), source="test")) is expected


@pytest.mark.parametrize(("width", "expected"), [(80, False), (110, True)])
def test_the_lines_of_a_given_text_may_be_longer_than_code(width: int, expected: bool) -> None:
    text = f"{'a' * width}\nb"
    case = Case(call="f(text)", setup=(f"text = {text!r}",), value="1", source="writer")
    assert is_too_long(case) is expected
