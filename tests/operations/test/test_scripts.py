"""What the scripts of the test agent report, and what they suggest to a model."""

from collections.abc import Sequence
from typing import Any

import pytest

from remora.operations.test.operation import TEST
from remora.pym import Limits, load
from tests.clock import ticking

WORTH = {"killed": 3, "mutants": 5, "lines": 6, "all_lines": 6}
BY_RULE = {"by rule": ["test_g"], "yours": [], **WORTH}
OPEN = "it needs a person or a model: no example shows arguments for it"
NONE = "none: no example shows arguments for it"


def reported(
    script: str,
    host: Any,
    options: Any = None,
    folder: str = "tools",
    left: Sequence[str] = (),
    **packet: Any,
) -> dict[str, Any]:
    facts = {name: {"value": value} for name, value in packet.pop("facts", {}).items()}
    inputs = {
        "function": "f",
        "name": "test_g",
        "code": "def test_f(): assert f(1)",
        "target": {"path": "mod.py", "nodes": ["f", "g", "h"]},
        "options": options or {},
        "progress": {"left": left, "changed": False},
        "packet": {"knowledge": facts, "recent_actions": [], "excerpt": None, **packet},
    }
    tool = load(TEST.folder / folder / f"{script}.pym")
    taken = {each.name: inputs[each.name] for each in tool.inputs}
    done = tool.run(taken, host, limits=Limits(), clock=ticking()(), seed=0)
    assert done.error is None, done.error
    found: dict[str, Any] = done.value
    return found


def test_write_tests_says_what_each_test_is_worth_and_which_functions_need_a_model() -> None:
    done = {
        "path": "test_mod.py", "tests": {"g": ["test_mod.py::test_g"]}, "ids": [],
        "reasons": {"f": OPEN, "h": "it only returns or stores what it has"},
        "open": ["f"], "worth": {"g": WORTH}, "extended": [], "wrong": ["g: x"],
    }  # fmt: skip
    found = reported("write_tests", {"write_tests": lambda *_: done})
    assert found["knowledge_delta"] == {
        "tests of f": "none: no example shows arguments for it",
        "tests of g": BY_RULE,
        "wrong examples": ["g: x"],
        "findings": {"missing test": 2},
        "worth": WORTH,
    }


@pytest.mark.parametrize(
    ("options", "kind"), [({}, "missing test"), ({"missed": {"mod.py": {"f": [1]}}}, "weak test")]
)
def test_a_written_test_is_added_to_the_sums(options: Any, kind: str) -> None:
    wrote = {**WORTH, "path": "t.py", "tests": ["test_f"], "functions": ["make", "test_f"]}
    done = {**wrote, "found": ["line 1: a"], "left": ["line 2: b"]}
    host = {"write_test": lambda *_: done}
    found = reported("write_test", host, options, facts={"tests of g": BY_RULE})
    assert found["knowledge_delta"] == {
        "tests of f": {"by rule": [], "yours": ["make", "test_f"], **WORTH},
        "findings": {kind: 1},
        "worth": {"killed": 6, "mutants": 10, "lines": 12, "all_lines": 12},
    }
    assert found["diagnostics"] == ["no test detects: line 2: b", "detected: line 1: a"]


def test_a_later_call_names_the_functions_that_it_replaces() -> None:
    asked: list[Any] = []

    def write_test(*args: Any) -> dict[str, Any]:
        asked.append(args[3:])
        return {"problem": "tests/test_mod.py::test_f: failed: assert 1 == 2"}

    facts = {"tests of f": {**BY_RULE, "yours": ["make", "test_f"]}}
    found = reported("write_test", {"write_test": write_test}, facts=facts)
    assert asked == [(["test_g"], ["make", "test_f"])]
    assert (found["outcome"], found["knowledge_delta"]) == ("error", {})
    assert found["summary"].endswith("test_f: failed: assert 1 == 2")


def test_code_that_prints_much_is_also_a_fact() -> None:
    def shown(printed: str) -> dict[str, Any]:
        done = {"value": "1", "printed": printed, "raised": ""}
        return reported("run_code", {"run_code": lambda *_: done})

    assert (shown("")["summary"], shown("")["knowledge_delta"]) == ("gives 1", {})
    assert [*shown("a" * 300)["knowledge_delta"]] == ["output of run_code"]


class TestSuggestions:
    """What a model is offered, and what rules do."""

    def suggested(
        self, *, open: bool = True, view: Any = None, **packet: Any
    ) -> list[tuple[str, Any]]:
        host = {"show_function": lambda *_: {"view": view} if view else {"problem": "no function"}}
        found = reported("candidates", host, {"open": open}, folder="context", **packet)
        assert view is None or found["excerpt"] == view["excerpt"]
        return [(each["tool"], each["args"]) for each in found["result"]]

    def test_rules_write_and_submit(self) -> None:
        assert self.suggested(open=False) == [("write_tests", {})]
        done = [{"tool": "write_tests"}]
        assert self.suggested(open=False, recent_actions=done) == [("submit_result", {})]
        written = {"tests of g": BY_RULE}
        assert self.suggested(open=False, facts=written) == [("submit_result", {})]

    def test_functions_without_a_test_and_those_whose_tests_miss_faults_are_suggested(self) -> None:
        facts = {"tests of f": NONE, "tests of g": BY_RULE}
        assert self.suggested(facts=facts) == [
            ("read_function", {"name": "f"}),
            ("leave", {"item": "f"}),
            ("read_function", {"name": "g"}),
            ("leave", {"item": "g"}),
            ("submit_result", {}),
        ]

    def test_the_first_function_is_shown_unless_another_was_read(self) -> None:
        facts = {"tests of f": NONE, "tests of g": BY_RULE}
        assert self.suggested(facts=facts, view={"excerpt": {"ref": "f"}})[::2] == [
            ("write_test", {"function": "f"}),
            ("read_function", {"name": "g"}),
            ("submit_result", {}),
        ]
        assert self.suggested(facts=facts, excerpt={"ref": "g"})[::2] == [
            ("write_test", {"function": "g"}),
            ("read_function", {"name": "f"}),
            ("submit_result", {}),
        ]

    def test_a_test_of_the_function_that_was_read_is_suggested(self) -> None:
        facts = {"tests of f": NONE}
        assert self.suggested(facts=facts, excerpt={"ref": "f"}) == [
            ("write_test", {"function": "f"}),
            ("leave", {"item": "f"}),
            ("submit_result", {}),
        ]

    def test_what_the_model_wrote_left_or_removed_is_not_suggested_again(self) -> None:
        facts = {
            "tests of f": NONE,
            "tests of g": {**BY_RULE, "yours": ["test_more"]}, "tests of h": {},
        }  # fmt: skip
        assert self.suggested(facts=facts, left=["f"]) == [("submit_result", {})]

    def test_without_an_opening_the_rules_are_a_suggestion(self) -> None:
        assert self.suggested()[:2] == [("write_tests", {}), ("read_function", {"name": "f"})]
