"""Only parts that the operation would miss, and could write, are hidden by `eval`."""

import pytest

from remora.operations.docstring.restorable_parts import RESTORER

SCALE = '''\
def scale(value, factor, offset):
    """Multiply a number.

    Args:
        value: What is multiplied.
        factor: How often.
        offset: What is added.

    Returns:
        The product.
    """
    return value * factor + offset
'''


def parts(text: str) -> list[str]:
    return [slot.part for slot in RESTORER.find({"a.py": text})]


def test_one_of_several_parameters_is_missed() -> None:
    expected = ["summary", "parameters.value", "parameters.factor", "parameters.offset"]
    assert parts(SCALE) == expected, "a docstring without a description of its result is complete"


def test_one_of_two_parameters_is_not_missed() -> None:
    text = SCALE.replace(", offset)", ")").replace("        offset: What is added.\n", "")
    assert parts(text.replace(" + offset", "")) == ["summary"]


@pytest.mark.parametrize(
    "text",
    [
        SCALE.replace("Multiply a number.", "Scale the value."),
        SCALE.replace("Multiply a number.", "Multiply a number\n    by another."),
        SCALE.replace("return value * factor + offset", "pass"),
        SCALE.replace("return value * factor + offset", "..."),
        SCALE.replace("    return value * factor + offset\n", ""),
    ],
    ids=["repeats the names", "two lines", "pass", "ellipsis", "no body"],
)
def test_summaries_that_the_operation_would_not_write_are_left_out(text: str) -> None:
    assert "summary" not in parts(text)


def test_an_exception_is_missed_if_others_are_listed() -> None:
    text = SCALE.replace(
        "The product.\n", "The product.\n\n    Raises:\n        TypeError: Never.\n"
    )
    raising = "    if not value:\n        raise TypeError(value)\n    return"
    assert "raises.TypeError" not in parts(text.replace("    return", raising)), "none is listed"
