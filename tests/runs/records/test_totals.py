"""What a run came to: each operation's work in its own measure, and only what may be had of it."""

from typing import Any

from remora.bootstrap.operations import BUILT_IN
from remora.runs.records.totals import phrases_of, totals_by_operation

TOTALS = BUILT_IN.totals
WORTH = {"killed": 5, "mutants": 6, "lines": 4, "all_lines": 7}


def job(
    operation: str,
    before: dict[str, int] | None,
    after: dict[str, int] | None = None,
    review: str = "pending",
    **more: Any,
) -> dict[str, Any]:
    """Verified, and waiting for a verdict; nothing is left unless it is said."""
    found = None if before is None else {"before": before, "after": after or {}}
    status = more.pop("status", "verified")
    known = {"status": status, "review": review, "findings": found, "worth": None}
    return {"operation": operation, **known, **more}


def test_findings_are_counted_of_all_that_were_planned_or_met() -> None:
    jobs = [job("lint", {"A": 2}), job("lint", {"B": 1}, {"B": 1}, "", status="no_change")]
    (told,) = totals_by_operation(jobs, {"findings": 3}, TOTALS)
    assert told.document() == {
        "operation": "lint",
        "jobs": 2,
        "verified": 1,
        "findings": {"fixed": 2, "of": 3},
        "docstrings": None,
        "tests": None,
        "annotations": None,
    }
    (told,) = totals_by_operation(jobs, {"findings": 9}, TOTALS)
    assert told.measures["findings"] == {"fixed": 2, "of": 9}, "some jobs not started"
    refused = [job("lint", {"A": 2}, review=review) for review in ("rejected", "conflict")]
    (told,) = totals_by_operation([*jobs, *refused], {"findings": 3}, TOTALS)
    assert (told.measures["findings"], told.verified) == ({"fixed": 2, "of": 7}, 1)


def test_only_planned_findings_of_one_operation_are_a_measure() -> None:
    (retried,) = totals_by_operation([job("docstring", {})], {"findings": 0}, TOTALS)
    assert set(retried.measures.values()) == {None}
    jobs = [job("tidy", None), job("tidy", None, status="failed", review="")]
    (told,) = totals_by_operation(jobs, {"findings": 5}, TOTALS)
    assert (told.operation, told.jobs, told.verified) == ("tidy", 2, 1)
    assert set(told.measures.values()) == {None}
    lint, own = totals_by_operation(
        [job("lint", {"A": 1}), job("own", {"B": 1})], {"findings": 7}, TOTALS
    )
    assert (lint.measures["findings"], own.measures["findings"]) == (
        {"fixed": 1, "of": 1},
        {"fixed": 1, "of": 1},
    )


def test_docstrings_are_counted_apart_from_findings() -> None:
    missing, outdated = {"missing docstring": 1}, {"outdated docstring": 1}
    jobs = [
        job("docstring", missing),
        job("docstring", outdated),
        job("docstring", missing, missing, "", status="no_change"),
        job("docstring", missing, review="rejected"),
    ]
    lint, text = totals_by_operation([job("lint", {"A": 2}), *jobs], {"findings": 2}, TOTALS)
    assert lint.measures["findings"] == {"fixed": 2, "of": 2}
    assert (text.measures["findings"], text.measures["docstrings"]) == (
        None,
        {"added": 1, "mended": 1, "of": 4},
    )


def test_tests_are_counted_with_what_they_are_worth() -> None:
    missing = {"missing test": 1}
    jobs = [
        job("test", missing, worth=WORTH),
        job("test", missing, worth=WORTH, review="accepted"),
        job("test", missing, worth=WORTH, review="rejected"),
        job("test", missing, missing, "", status="no_change"),
    ]
    (told,) = totals_by_operation(jobs, {"findings": 0}, TOTALS)
    assert told.measures["findings"] is None, "a missing test is not a finding of a linter"
    assert told.measures["tests"] == {
        "added": 2,
        "of": 4,
        "killed": 10,
        "mutants": 12,
        "lines": 8,
        "all_lines": 14,
    }


def test_the_words() -> None:
    missing, outdated = {"missing docstring": 1}, {"outdated docstring": 1}
    jobs = [
        job("tidy", None),
        job("tidy", None, status="failed", review=""),
        job("test", {"missing test": 1}, worth=WORTH),
        job("test", {"missing test": 1}, {"missing test": 1}, "", status="no_change"),
        job("docstring", missing),
        job("docstring", missing),
        job("docstring", outdated),
        job("docstring", missing, missing, "", status="no_change"),
        job("lint", {"F401": 1}),
    ]
    sums = totals_by_operation(jobs, {"findings": 1}, TOTALS)
    assert [one.whole for one in phrases_of(sums)] == [
        "1 of 1 finding fixed",
        "3 of 4 docstrings written: 2 added, 1 updated",
        "1 of 2 missing tests added: detect 5 of 6 planted faults, cover 4 "
        "of 7 lines of the tested code",
        "1 of 2 tidy jobs checked",
    ]
    assert phrases_of(sums)[2].brief == "1 of 2 missing tests added"
    weak = {"weak test": 1}
    jobs = [job("test", weak, worth=WORTH), job("test", weak, weak, "", status="no_change")]
    (further,) = phrases_of(totals_by_operation(jobs, {"findings": 0}, TOTALS))
    assert further.brief == "1 of 2 functions tested further"
    assert totals_by_operation([], {"findings": 0}, TOTALS) == ()
