"""The lines about a run."""

from remora.cli.views.run_view import decision_lines, unreadable_lines


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
    assert list(decision_lines(document, None, verbose=False)) == [
        "5 decisions: 3 by rules, 1 by the embedded model, 1 by the model server",
        "model: 2 turns, 1 invalid; 3 requests, 4,096 tokens; 1 finding fixed after the rules",
    ]


def test_decisions_of_rules_alone_are_not_mentioned() -> None:
    document = {"totals": {"decisions": {"rule": 3}, "by_model": None}}
    assert list(decision_lines(document, None, verbose=False)) == []
