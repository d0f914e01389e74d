"""The lines about a run."""

import pytest

from remora.agents.builtin_tools import NEEDS_MODEL
from remora.bootstrap.operations import BUILT_IN
from remora.cli.views.run_view import decision_lines, unreadable_lines, unwritten_lines


@pytest.mark.parametrize(("operation", "number"), [("docstring", 1), ("own", 1), ("lint", 0)])
def test_a_writer_is_named_only_for_operations_that_ask_one(operation: str, number: int) -> None:
    jobs: list[dict[str, object]] = [
        {"why": None, "findings": {"after": {"missing": 1}}},
        {"why": NEEDS_MODEL, "findings": None},
        {"why": "nothing is left", "findings": {"after": {}}},
    ]
    asked = [{**job, "operation": operation, "status": "no_change"} for job in jobs]
    found = list(unwritten_lines({"model": "none", "jobs": asked}, BUILT_IN, None))
    assert [line[:20] for line in found] == ["2 jobs need a writer"] * number


def test_a_syntax_error_has_its_file_and_line() -> None:
    files = [
        {"path": "a.py", "detail": "line 3: '(' was never closed"},
        {"path": "b.py", "detail": "its name is not UTF-8"},
    ]
    lines = list(unreadable_lines({"unreadable": files}, None))
    assert "not checked: a.py:3: '(' was never closed" in lines[0]
    assert "not checked: b.py: its name is not UTF-8" in lines[1]


def test_decisions_of_models_are_counted_by_what_made_them() -> None:
    counts = {"rule": 3, "embedded": 1, "server": 1, "fallback": 0}
    part = {
        "turns": 2,
        "invalid": 1,
        "refused": 0,
        "fallback": 0,
        "requests": 3,
        "tokens": 4096,
        "added": 1,
    }
    document = {"totals": {"decisions": counts, "by_model": part}}
    assert list(decision_lines(document, None)) == [
        "5 decisions: 3 by rules, 1 by the embedded model, 1 by the model server",
        "model: 2 turns, 1 invalid; 3 requests, 4,096 tokens; 1 finding fixed after the rules",
    ]


def test_decisions_of_rules_alone_are_not_mentioned() -> None:
    document = {"totals": {"decisions": {"rule": 3}, "by_model": None}}
    assert list(decision_lines(document, None)) == []
