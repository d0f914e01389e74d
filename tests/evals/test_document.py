"""The document of an evaluation, and the phrases for its numbers."""

from msgspec.structs import replace

from remora.evals.document import eval_document
from remora.evals.phrases import details, failures, head, heading, row
from tests.evals.results import arm, operation, report, result

PARTS = [result("a.py", "exact"), result("a.py", "different"), result("b.py", "left")]
RULES, EMBEDDED = arm("rules", *PARTS), arm("embedded", *PARTS)


def test_each_arm_has_its_shares_and_difference_to_the_first() -> None:
    document = eval_document(report(operation("types", RULES, EMBEDDED), operation("lint")))
    types, lint = document["operations"]
    first, second = types["arms"]
    assert (first["precision"], first["coverage"], first["restored"]) == (0.5, 0.6667, 0.3333)
    assert first["outcomes"] == {"exact": 1, "equivalent": 0, "different": 1, "left": 1}
    assert first["by_kind"] == {"return": first["outcomes"]}
    assert first["against_first"] is None
    assert second["against_first"]["coverage_ci95"] == [0.0, 0.0]
    assert [each["arm"] for each in types["examples"]] == ["rules", "embedded"]
    assert (lint["arms"], lint["examples"]) == ([], [])
    assert heading(types) == "types: 3 of 9 parts hidden in 2 files (3 return)"
    assert heading(lint) == "lint: nothing to hide"
    assert head(types)[-3:] == ["PRECISION", "COVERAGE", "SECONDS"]
    shares = ["50 % (9 to 91)", "67 % (0 to 100)"]
    assert row(types, first) == ["rules", 1, 0, 1, 1, *shares, 0]
    assert list(details(types, second)) == [
        "embedded against the first arm: precision +0 % (the same in each file), "
        "coverage +0 % (the same in each file), restored +0 % (the same in each file)",
    ]


def test_jobs_are_counted_by_what_the_checks_say() -> None:
    jobs = arm("rules", result("a.py", "verified", kind=""), result("b.py", "nothing", kind=""))
    checked = replace(operation("test", jobs), basis="checks")
    (found,) = eval_document(report(checked))["operations"]
    assert heading(found) == "test: 2 of 9 jobs chosen in 2 files"
    assert head(found) == [
        *("ARM", "VERIFIED", "FAILED", "NOTHING"), *("SHARE", "SECONDS")
    ]  # fmt: skip
    assert row(found, found["arms"][0]) == ["rules", 1, 0, 1, "50 % (0 to 100)", 0]


def test_kinds_and_what_a_model_did_are_listed() -> None:
    both = replace(
        arm("m", *PARTS[:2], result("b.py", "left", kind="parameter")),
        requests=3,
        tokens=900,
        turns=7,
        jobs={"verified": 2},
        invalid=1,
        refused=2,
        decisions={"rule": 1200, "server": 3, "ranker": 0},
    )
    (found,) = eval_document(report(operation("types", both)))["operations"]
    assert list(details(found, found["arms"][0])) == [
        "m, by kind: parameter: 0 of 1 written; return: 2 of 2 written, 1 right",
        "m: 2 jobs, 7 turns, 3 requests, 900 tokens; decisions: rule 1,200, server 3; 1 invalid, 2 refused",
    ]


def test_a_cause_is_named_once() -> None:
    broken = replace(arm("http://h:1/v1"), error="no server", exit_code=3)
    failing = replace(RULES, job_errors={"no answer": 2})
    found = report(operation("types", failing, broken), operation("lint", RULES, broken))
    document = eval_document(found)["operations"]
    assert list(failures(document)) == [
        "rules: no answer (types: 2 jobs)",
        "http://h:1/v1: no server (types, lint)",
    ]
    failed = document[0]["arms"][1]
    assert (failed["error"], failed["precision"], failed["against_first"]) == (
        "no server",
        None,
        None,
    )
    assert list(details(document[0], failed)) == []
    assert found.exit_code == 3
