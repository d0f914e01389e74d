"""The benchmark of questions: what it asks for, and which tokens it counts."""

import ast
from pathlib import Path

import pytest
from questions import Question, evaluated_share, history_shares, without_docstrings


def question(
    *, own: int = 100, whole: int = 150, evaluated: int = 90, history: int = 600, lines: int = 1500
) -> Question:
    return Question(
        asked="2026-01-01T00:00:00.000Z", operation="docstring",
        own=own, whole=whole, evaluated=evaluated, history=history, lines=lines,
    )  # fmt: skip


def test_functions_of_the_project_have_no_docstrings(tmp_path: Path) -> None:
    root = without_docstrings(tmp_path / "shop")
    found = [
        node
        for path in root.glob("src/**/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(found) > 20
    assert [node.name for node in found if ast.get_docstring(node)] == []


def test_evaluated_tokens_are_compared_with_the_packets_of_the_same_questions() -> None:
    some = [question(own=100, evaluated=90), question(own=300, evaluated=350)]
    assert evaluated_share(some) == pytest.approx(1.1)


def test_a_question_is_compared_with_what_was_recorded_before_it() -> None:
    some = [question(), question(whole=300), question(whole=60)]
    assert history_shares(some) == pytest.approx((0.25, 0.1))
