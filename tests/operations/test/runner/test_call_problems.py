"""Why the result of a call is not asserted."""

from typing import Any

import pytest

from remora.operations.test.runner.call_problems import call_problem

VALUE = {"how": "value", "claims": [["{}", "1"]]}
OTHER = {"how": "value", "claims": [["{}", "2"]]}


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ({"how": "late"}, {"how": "late"}, "it takes longer than a second"),
        (
            {"how": "effect", "effect": "os.system"},
            {"how": "effect", "effect": "os.system"},
            "it has effects outside the process (os.system)",
        ),
        (
            {"how": "raised", "type": "KeyError"},
            {"how": "raised", "type": "KeyError"},
            "it raises KeyError, which no code of the project raises",
        ),
        (VALUE, OTHER, "its result differs between two runs"),
        (VALUE, {"how": "late"}, "its result differs between two runs"),
        (VALUE, VALUE, "its result cannot be written in a test"),
        (None, None, "it ends the process, or was not tried"),
        ({"how": "anything"}, None, "it ends the process, or was not tried"),
    ],
)
def test_the_reason_is_in_words(first: Any, second: Any, problem: str) -> None:
    assert call_problem([first, second]) == problem
