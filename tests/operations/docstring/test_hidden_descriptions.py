"""Docstrings and their parts that are hidden, and compared with those written in their place."""

from textwrap import dedent

import pytest

from remora.operations.docstring.hidden_descriptions import documented_parts
from remora.operations.docstring.restorable_parts import RESTORER
from remora.operations.restorer import Slot

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


def slots(text: str) -> list[Slot]:
    return documented_parts({"a.py": text})


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
    assert {RESTORER.kind(each.part) for each in slots(GOOGLE)} == {
        "summary",
        "parameters",
        "raises",
    }


@pytest.mark.parametrize("path", ["tests/test_a.py", "pkg/_vendor/a.py"])
def test_tests_and_copied_code_are_left_out(path: str) -> None:
    assert documented_parts({path: GOOGLE}) == []


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
    assert slots(text) == []


def test_of_a_private_function_the_described_parts_are_found() -> None:
    text = GOOGLE.replace("def scale", "def _scale")
    assert "summary" not in [each.part for each in slots(text) if each.qualname == "_scale"]
    assert "raises.TypeError" in [each.part for each in slots(text)]


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
    (found,) = RESTORER.compare([wanted], {}, {"a.py": after})
    assert found.outcome == outcome


def test_escapes_are_compared_as_what_they_mean() -> None:
    text = 'def f():\n    """Split at `\\\\n`."""\n'
    (found,) = RESTORER.compare(slots(text), {}, {"a.py": text})
    assert (found.outcome, found.text) == ("exact", "Split at `\\n`.")


def test_what_was_not_written_is_left() -> None:
    every = slots(GOOGLE)
    found = RESTORER.compare(every, {}, {"a.py": hidden(GOOGLE, "summary")})
    assert {each.outcome for each in found} == {"left"}
