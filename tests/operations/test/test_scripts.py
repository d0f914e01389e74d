"""What the scripts of the test agent report of a model's calls."""

from typing import Any

import pytest

from remora.operations.test.operation import TEST
from remora.pym import Limits, load
from tests.clock import ticking

WRITTEN = {"ids": ["test_mod.py::test_f"], "killed": 2, "mutants": 4, "lines": 3, "all_lines": 3}
COUNTED = {"killed": 3, "mutants": 5, "lines": 6, "all_lines": 6}


def reported(
    script: str, host: Any, options: Any = None, folder: str = "tools", **packet: Any
) -> dict[str, Any]:
    inputs = {
        "function": "f",
        "code": "f(1)",
        "target": {"path": "mod.py", "nodes": ["f", "g", "h"]},
        "options": options or {},
        "packet": {"knowledge": {}, "extensions": {}, **packet},
    }
    tool = load(TEST.folder / folder / f"{script}.pym")
    taken = {each.name: inputs[each.name] for each in tool.inputs}
    done = tool.run(taken, host, limits=Limits(), clock=ticking()(), seed=0)
    assert done.error is None
    found: dict[str, Any] = done.value
    return found


def sums(*, first: bool, strengthen: bool = False, tested: bool = False) -> tuple[Any, Any]:
    """Return the sums and the functions that still lack a test after calls of `f`."""
    kind = "weak test" if strengthen else "missing test"
    found = reported(
        "try_calls",
        {"write_calls": lambda *_: {**WRITTEN, "first": first}},
        {"open": True, "strengthen": strengthen},
        knowledge={"worth": {"value": COUNTED}, "findings": {"value": {kind: 2}}},
        extensions={"open": ["f", "g"], **({"tested": ["f"]} if tested else {})},
    )
    assert found["extensions"] == {"open": ["g"]}
    facts = found["knowledge_delta"]
    return [*facts["worth"].values()], facts["findings"][kind]


@pytest.mark.parametrize("strengthen", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_faults_of_a_function_that_write_tests_left_out_are_added(
    first: bool, strengthen: bool
) -> None:
    assert sums(first=first, strengthen=strengthen) == ([5, 9, 9, 9], 1)


def test_faults_of_a_function_that_write_tests_has_tested_are_counted_once() -> None:
    assert sums(first=False, tested=True) == ([5, 5, 6, 6], 2)
    assert sums(first=True, tested=True) == ([3, 5, 6, 6], 2)


def test_write_tests_says_which_open_functions_have_a_test() -> None:
    done = {
        "path": "test_mod.py", "tests": {"f": [], "g": []}, "ids": [], "reasons": {},
        "open": ["g", "h"], "worth": COUNTED,
    }  # fmt: skip
    host = {"write_tests": lambda *_: done}
    found = reported("write_tests", host, {"open": True})
    assert found["extensions"] == {"open": ["g", "h"], "tested": ["g"]}


def test_a_function_that_cannot_be_examined_is_removed_from_the_open_ones() -> None:
    """Its turn counts as progress, so several failures in a row do not end the job."""
    host = {"call_question": lambda *_: {"problem": "the tests did not finish in time"}}
    found = reported("read_function", host, extensions={"open": ["f", "g"]})
    assert (found["outcome"], found["extensions"]) == ("error", {"open": ["g"]})
    assert found["summary"] == "the tests did not finish in time"


@pytest.mark.parametrize(
    ("failed", "still_open", "calls"),
    [
        (["f"], ["f", "g"], [("read_function", {"function": "g"})]),
        (["f"], ["f"], [("submit_result", {})]),
        (["f", "g"], ["g", "h"], [("read_function", {"function": "h"})]),
        (["f", "g"], ["f", "g", "h"], [("submit_result", {})]),
    ],
)
def test_no_other_function_is_examined_if_the_tool_itself_failed_for_two(
    failed: list[str], still_open: list[str], calls: list[object]
) -> None:
    """The same failure in several turns would end the job without the tests of rules.

    A function that is not open any more failed for a reason of its own.
    """
    found = reported(
        "candidates",
        {},
        {"open": True},
        folder="context",
        recent_actions=[
            {"tool": "read_function", "args": {"function": name}, "outcome": "error"}
            for name in failed
        ],
        extensions={"open": still_open},
        constraints={"max_turns": 60},
        turn=3,
        excerpt=None,
    )
    assert [(each["tool"], each["args"]) for each in found["candidate_actions"]] == calls
