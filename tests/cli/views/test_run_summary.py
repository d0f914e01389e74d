"""The sentence that ends a run: three numbers, with their reasons."""

from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.cli.views.run_summary import run_sentence
from remora.operations.base import KEPT, NEEDS_UNSAFE, NEEDS_WRITER, NO_FIX, Phrase
from remora.runs.records.totals import OperationTotals


def total(operation: str, done: int, of: int, what: str, more: str = "") -> OperationTotals:
    measures: dict[str, Any] = {
        "findings": {"fixed": done, "of": of} if operation == "lint" else None
    }
    phrases = (Phrase(done=done, of=of, what=what, more=more),)
    return OperationTotals(
        operation=operation, jobs=1, verified=1, measures=measures, phrases=phrases
    )


LINT = total("lint", 3, 26, "findings fixed")


def said(plan: dict[str, Any], *sums: OperationTotals, files: int = 3, model: bool = False) -> str:
    return run_sentence(plan, sums, BUILT_IN, files, has_model=model)


def test_what_is_fixed_what_needs_consent_and_what_stays() -> None:
    left = {NEEDS_UNSAFE: ["a"], NO_FIX: ["b"] * 17, KEPT: ["c"] * 3}
    assert said({"left_findings": left}, LINT) == (
        "3 of 26 findings fixed in 3 files; 1 finding needs --unsafe-fixes; "
        "22 stay: 17 have no fix, 3 are left as they are, 2 have no fix that passed"
    )


def test_a_single_reason_is_not_counted_twice() -> None:
    assert said({"left_findings": {NO_FIX: ["b"] * 23}}, LINT).endswith("files; 23 have no fix")


@pytest.mark.parametrize(
    ("model", "how"), [(False, " (`--model URL --decisions model`)"), (True, "")]
)
def test_what_nobody_wrote_needs_a_person_or_a_model(model: bool, how: str) -> None:
    plan = {"left_nodes": {"docstring": {NEEDS_WRITER: ["f", "g"], "in examples": ["h"]}}}
    written = total("docstring", 2, 3, "docstrings written", "2 updated")
    needs = f"3 docstrings need a person or a model{how}"
    assert said(plan, written, files=1, model=model) == (
        f"2 of 3 docstrings written (2 updated) in 1 file; {needs}"
    )


def test_operations_share_a_sentence() -> None:
    types = total("types", 5, 5, "missing annotations written")
    assert said({}, total("lint", 2, 2, "findings fixed"), types) == (
        "2 of 2 findings fixed and 5 of 5 missing annotations written in 3 files"
    )


def test_a_run_without_results_says_so() -> None:
    assert said({}, files=0) == "nothing was changed"
