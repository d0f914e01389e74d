"""The sentence that ends a run: three numbers, with their reasons."""

from typing import Any

import pytest
from msgspec.structs import replace

from remora.bootstrap.operations import BUILT_IN
from remora.cli.views.run_summary import run_sentence, with_reasons
from remora.operations.base import CONTRADICTS, KEPT, NEEDS_UNSAFE, NEEDS_WRITER, NO_FIX, Phrase
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


@pytest.mark.parametrize(
    ("reviews", "first"),
    [
        (["pending", "rejected"], "proposed: "),
        (["pending", "accepted"], "accepted or proposed: "),
        (["accepted", "no_change"], ""),
    ],
)
def test_what_is_not_accepted_is_proposed(reviews: list[str], first: str) -> None:
    assert said(replace(LINT, reviews=reviews)).startswith(f"{first}3 of 26 findings")


def said(
    *sums: OperationTotals,
    findings: dict[str, int] | None = None,
    nodes: dict[str, dict[str, list[str]]] | None = None,
    files: int = 3,
) -> str:
    return run_sentence(sums, findings or {}, nodes or {}, BUILT_IN, files)


def test_what_is_fixed_what_needs_consent_and_what_stays() -> None:
    assert said(LINT, findings={NEEDS_UNSAFE: 1, NO_FIX: 17, KEPT: 3}) == (
        "3 of 26 findings fixed in 3 files; 1 finding needs --unsafe-fixes; "
        "22 findings stay: 17 have no fix, 3 are left as they are, 2 are left open (-v lists them)"
    )


def test_reasons_count_no_more_than_what_stays() -> None:
    """Other fixes removed some of those that the plan left."""
    assert said(LINT, findings={NO_FIX: 22, KEPT: 3}).endswith(
        "files; 23 findings stay: 22 have no fix, 1 is left as it is (-v lists them)"
    )


def test_a_single_reason_is_not_counted_twice() -> None:
    assert said(LINT, findings={NO_FIX: 23}).endswith(
        "files; 23 findings have no fix (-v lists them)"
    )


def test_what_nobody_wrote_needs_a_person_or_a_model() -> None:
    keys = [f"node:a.py:f{number}" for number in range(5)]
    nodes = {"docstring": {NEEDS_WRITER: keys, "in examples": keys[:1]}}
    written = total("docstring", 2, 3, "docstrings written", "2 updated")
    needs = "5 docstrings need a person or a model: a.py:f0, a.py:f1, a.py:f2 and 2 more"
    needs += " (-v lists them); 1 function left out (-v says why)"
    assert said(written, nodes=nodes, files=1) == (
        f"2 of 3 docstrings written (2 updated) in 1 file; {needs}"
    )


def test_contradictions_are_named_and_not_among_what_is_left_out() -> None:
    wrong = [f"{CONTRADICTS}: a.py:f{number}: `x` does not exist" for number in range(9)]
    nodes = {"docstring": {"in examples": ["node:a.py:f"], wrong[0]: ["node:a.py:g"]}}
    assert said(nodes=nodes, files=0) == (
        f"1 function {wrong[0]}; 1 function left out (-v says why)"
    )
    text = with_reasons(dict.fromkeys(wrong, 1), "function")
    assert text.startswith(f"1 function {wrong[0]}, 1 ")
    assert text.endswith(f"{wrong[7]}, ...")


def test_operations_share_a_sentence() -> None:
    types = total("types", 5, 5, "missing annotations written")
    assert said(total("lint", 2, 2, "findings fixed"), types) == (
        "2 of 2 findings fixed, 5 of 5 missing annotations written in 3 files"
    )


def test_a_plan_without_jobs_has_its_reasons() -> None:
    found = {NEEDS_UNSAFE: 2, NO_FIX: 1}
    assert (
        said(findings=found, files=0)
        == "2 findings need --unsafe-fixes; 1 finding has no fix (-v lists them)"
    )
    assert said(files=0) == ""
