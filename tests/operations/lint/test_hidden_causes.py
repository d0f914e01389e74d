"""Causes of exceptions that are hidden, and compared with those written in their place."""

import pytest

from remora.operations.lint.hidden_causes import RESTORER
from remora.operations.restorer import Restored, compare

LOADER = """\
def load(path):
    try:
        return read(path)
    except (OSError, ValueError) as error:
        raise LoadError(path) from error
    except KeyError as error:
        log(error)
        raise LoadError(str(error)) from None
    except TypeError as error:
        if path:
            raise LoadError from (
                error
            )
        raise error
"""
HIDDEN = """\
def load(path):
    try:
        return read(path)
    except (OSError, ValueError):
        raise LoadError(path)
    except KeyError as error:
        log(error)
        raise LoadError(str(error))
    except TypeError as error:
        if path:
            raise LoadError
        raise error
"""


def test_causes_in_handlers_are_found_and_hidden_with_names_that_only_they_use() -> None:
    slots = RESTORER.find({"a.py": LOADER})
    assert [(each.qualname, each.part, each.text) for each in slots] == [
        ("load", "raise-from 1", "error"),
        ("load", "raise-from 2", "None"),
        ("load", "raise-from 3", "error"),
    ]
    assert RESTORER.hide({"a.py": LOADER, "b.py": ""}, slots) == {"a.py": HIDDEN, "b.py": ""}


def test_causes_outside_of_handlers_are_not_found() -> None:
    text = (
        "def f(cause):\n    raise E() from cause\n\n\ntry:\n    f(1)\n"
        "except E as e:\n    def g():\n        raise E() from e\n"
    )
    assert RESTORER.find({"a.py": text}) == []


@pytest.mark.parametrize(
    ("people", "written", "outcome"),
    [
        ("except A as e:\n    raise B() from e", "except A as e:\n    raise B() from e", "exact"),
        (
            "except A as e:\n    raise B() from e",
            "except A as error:\n    raise B() from error",
            "equivalent",
        ),
        ("except A:\n    raise B() from None", "except A:\n    raise B() from None", "exact"),
        ("except A:\n    raise B() from None", "except A as e:\n    raise B() from e", "different"),
        ("except A:\n    raise B() from other", "except A:\n    raise B()", "left"),
        (
            "except A as e:\n    log(e)\n    raise B() from e.__cause__",
            "except A as e:\n    log(e)\n    raise B() from e",
            "different",
        ),
    ],
)
def test_the_handled_exception_is_the_same_cause_under_any_name(
    people: str, written: str, outcome: str
) -> None:
    before = {"a.py": f"try:\n    f()\n{people}\n"}
    slots = RESTORER.find(before)
    (found,) = compare(RESTORER, slots, {"a.py": f"try:\n    f()\n{written}\n"})
    assert found.outcome == outcome


def test_a_file_with_other_raise_statements_cannot_be_compared() -> None:
    slots = RESTORER.find({"a.py": LOADER})
    after = {"a.py": HIDDEN.replace("        raise error\n", "")}
    assert set(compare(RESTORER, slots, {"a.py": "x = 1\n"})) == {Restored(outcome="left")}
    assert {each.outcome for each in compare(RESTORER, slots, after)} == {"left"}
