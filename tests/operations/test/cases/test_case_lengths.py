"""Cases that are too long for a reader."""

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.cases.case_lengths import is_too_long


@pytest.mark.parametrize(("lines", "expected"), [(14, False), (20, True)])
def test_the_lines_of_an_expected_text_are_counted(lines: int, expected: bool) -> None:
    text = "\n".join(["abc"] * lines)
    assert is_too_long(Case(call=f"f({lines})", value=repr(text), source="value")) is expected
