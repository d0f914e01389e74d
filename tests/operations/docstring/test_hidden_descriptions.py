"""Docstrings and their parts that are hidden, and compared with those written in their place."""

from textwrap import dedent

import pytest

from remora.operations.docstring.hidden_descriptions import RESTORER
from remora.operations.restorer import HiddenSlot, compare

GOOGLE = '''\
def scale(value, factor=2):
    """Multiply a value.

    Args:
        value: The value to scale,
            in pixels.
        factor: How often.

    Returns:
        The product.

    Raises:
        TypeError: If it is no number.
    """
    return value * factor


class Box:
    """A box."""
'''
NUMPY = '''\
def scale(value, factor=2):
    """Multiply a value.

    Parameters
    ----------
    value : int
        The value to scale.
    factor : int
        How often.

    Returns
    -------
    int
        The product.
    """
'''
REST = '''\
def scale(value, factor=2):
    """
    Multiply a value.

    :param value: The value to scale.
    :type value: int
    :param factor: How often.
    :returns: The product.
    """
'''


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


def slots(text: str) -> list[HiddenSlot]:
    return list(RESTORER.read({"a.py": text}))


def hidden(text: str, *parts: str) -> str:
    wanted = [slot for slot in slots(text) if slot.part in parts]
    return RESTORER.hide({"a.py": text}, wanted)["a.py"]


def test_summaries_and_descriptions_are_found() -> None:
    assert [(each.qualname, each.part, each.text) for each in slots(GOOGLE)] == [
        ("scale", "summary", "Multiply a value."),
        ("scale", "parameters.value", "The value to scale, in pixels."),
        ("scale", "parameters.factor", "How often."),
        ("scale", "raises.TypeError", "If it is no number."),
        ("Box", "summary", "A box."),
    ]
    assert {each.kind for each in slots(GOOGLE)} == {"summary", "parameters", "raises"}


@pytest.mark.parametrize("path", ["tests/test_a.py", "pkg/_vendor/a.py"])
def test_tests_and_copied_code_are_left_out(path: str) -> None:
    assert RESTORER.find({path: SCALE}) == []


@pytest.mark.parametrize(
    "text",
    [
        'def _f():\n    """Private."""\n',
        'def f():\n    """Before""" ; x = 1\n',
        'def f():\n    """Doc."""  # noqa: D400\n',
        'def f():\n    "Two " "parts."\n',
        'class A:\n    def __len__(self):\n        """Special."""\n',
    ],
)
def test_docstrings_that_the_operation_would_not_write_are_not_found(text: str) -> None:
    assert parts(text) == []


def test_of_a_private_function_the_described_parts_are_found() -> None:
    assert parts(SCALE.replace("def scale", "def _scale")) == parts(SCALE)[1:]


def test_a_summary_takes_its_whole_docstring_with_it() -> None:
    assert hidden(GOOGLE, "summary") == dedent("""\
        def scale(value, factor=2):
            return value * factor


        class Box:
            pass
        """)


@pytest.mark.parametrize(
    ("text", "part", "described"),
    [
        (
            GOOGLE,
            "parameters.value",
            "        value: The value to scale,\n            in pixels.\n",
        ),
        (GOOGLE, "raises.TypeError", "\n    Raises:\n        TypeError: If it is no number.\n"),
        (NUMPY, "parameters.factor", "    factor : int\n        How often.\n"),
        (REST, "parameters.value", "    :param value: The value to scale.\n    :type value: int\n"),
    ],
)
def test_a_part_is_cut_out_of_its_docstring(text: str, part: str, described: str) -> None:
    assert described in text
    assert hidden(text, part) == text.replace(described, "")


@pytest.mark.parametrize(
    ("people", "written", "outcome"),
    [
        ("How often.", "How often.", "exact"),
        ("How often\n            it is.", "How often it is.", "exact"),
        ("The number.", "number", "equivalent"),
        ("The `number`.", "A number.", "equivalent"),
        ("The number.", "The sum.", "different"),
    ],
)
def test_descriptions_are_compared_by_their_words(people: str, written: str, outcome: str) -> None:
    text = GOOGLE.replace("How often.", people)
    (wanted,) = (each for each in slots(text) if each.part == "parameters.factor")
    after = GOOGLE.replace("How often.", written)
    (found,) = compare(RESTORER, [wanted], {"a.py": after})
    assert found.outcome == outcome


def test_escapes_are_compared_as_what_they_mean() -> None:
    text = 'def f():\n    """Split at `\\\\n`."""\n'
    (found,) = compare(RESTORER, slots(text), {"a.py": text})
    assert (found.outcome, found.text) == ("exact", "Split at `\\n`.")


def test_what_was_not_written_is_left() -> None:
    every = slots(GOOGLE)
    found = compare(RESTORER, every, {"a.py": hidden(GOOGLE, "summary")})
    assert {each.outcome for each in found} == {"left"}


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
