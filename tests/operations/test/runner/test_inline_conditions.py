"""Which outcomes of the conditions within a line cases show."""

from typing import Any

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.runner.child.outcomes import Outcomes
from remora.operations.test.runner.inline_conditions import hides_outcomes, with_outcomes


def seen(body: str, *arguments: object) -> Case:
    """Return a case with the outcomes of a call of a function with that body."""
    source = with_outcomes(f"LIMIT = 1\n\ndef f(a, b=0):\n    {body}\n".encode(), "f")
    names: dict[str, Any] = {"LIMIT": 1}
    exec(source or "def f(a, b=0): ...", names)
    recorded = Outcomes()
    with recorded:
        names["f"](*arguments)
    return Case(call="f()", value="1", outcomes=tuple(sorted(recorded.seen)))


@pytest.mark.parametrize(
    ("body", "one", "other"),
    [
        ("return 'apple' if a == 1 else 'apples'", (1,), (2,)),
        ("return f\"{a} {'apple' if a == 1 else 'apples'}\"", (1,), (2,)),
        ("return a or 'nothing'", (1,), (0,)),
        ("return isinstance(a, int) and a > 0", (1,), ("",)),
        ("return [each for each in a if each > 1]", ([2],), ([1],)),
        ("return max(0, a)", (5,), (-5,)),
        ("return print(min(a, b))", (5, 6), (6, 5)),
        ("return a and b or 'nothing'", (1, 2), (0, 2)),
    ],
)
def test_one_outcome_hides_the_other(body: str, one: Any, other: Any) -> None:
    cases = [seen(body, *one), seen(body, *other)]
    assert [hides_outcomes([case]) for case in cases] == [True, True]
    assert not hides_outcomes(cases)


@pytest.mark.parametrize(
    "body",
    [
        "return a + 1",
        "if a and b: return 1",
        "return 1 if LIMIT else 2",
        "return max(a, key=len)",
        "return max(*a)",
    ],
)
def test_no_condition_within_the_line(body: str) -> None:
    assert not hides_outcomes([seen(body, ["x", "y"])])


def test_more_than_half_of_the_outcomes_are_enough() -> None:
    body = "return (a or 1) + (b or 1)"
    assert hides_outcomes([seen(body, 1, 1)])
    assert not hides_outcomes([seen(body, 1, 1), seen(body, 0, 1)])
