"""Calls that a test could make of a function, those that a reader recognizes first."""

import re

from remora.operations.test.inputs.call_input import SHOWN, CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.inputs.type_check import contradicts
from remora.operations.test.target_function import TargetFunction

_SURROUNDINGS = re.compile(
    r"\b(sys|platform|tempfile)\.|\bos\.(?!path\b)|\b(argv|environ|__file__)\b"
)
"""Names in a call whose values depend on where the test runs."""


def candidate_calls(subject: TargetFunction, examples: ProjectExamples) -> list[CallInput]:
    """Return the calls of the function in documentation, and then those in its tests.

    Calls that contradict annotations are left out.
    """
    found = examples.calls_of(subject)
    return [each for each in found if each.source in SHOWN and not why_unfit(subject, each)]


def why_unfit(subject: TargetFunction, given: CallInput) -> str:
    """Return why a test should not make a call, or an empty string."""
    if contradicts(subject, given.call):
        return "an argument contradicts its annotation"
    if any(_SURROUNDINGS.search(text) for text in (given.call, *given.setup)):
        return "it depends on where it runs"
    return ""
