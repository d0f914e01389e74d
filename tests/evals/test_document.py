"""The document of an evaluation."""

from collections.abc import Sequence

import msgspec

from remora.evals.document import restore_document
from remora.evals.phrases import details, heading, row
from remora.evals.slot_results import ArmResult, OperationResult, RestoreReport, SlotResult
from remora.operations.restorer import Slot

PARTS = [("a.py", "exact", 0.9), ("a.py", "different", 0.6), ("b.py", "left", None)]


def report(arms: Sequence[ArmResult]) -> RestoreReport:
    slots = [each.slot for each in arms[0].results]
    types = OperationResult(
        operation="types", found=9, slots=slots, hidden={"return": 3}, arms=arms
    )
    lint = OperationResult(operation="lint", found=0, slots=(), hidden={})
    return RestoreReport(
        seed=7,
        versions={"remora": "1"},
        commit=None,
        operations=[types, lint],
        notes=["<left out>"],
    )


def arm(name: str, *, error: str = "") -> ArmResult:
    results = [
        SlotResult(
            slot=Slot(path=path, number=0, qualname="f", part="return", text="List[<T>]"),
            kind="return",
            outcome=outcome,  # type: ignore[arg-type]
            text="list",
            source=None if outcome == "left" else "ranker",
            probability=probability,
        )
        for path, outcome, probability in PARTS
    ]
    return ArmResult(name=name, results=() if error else tuple(results), error=error, exit_code=3)


def test_each_arm_has_its_shares_and_difference_to_the_first() -> None:
    document = restore_document(report([arm("rules"), arm("embedded")]))
    (types, lint) = document["operations"]
    first, second = types["arms"]
    assert (first["precision"], first["coverage"], first["restored"]) == (0.5, 0.6667, 0.3333)
    assert first["by_kind"]["return"] == {"exact": 1, "equivalent": 0, "different": 1, "left": 1}
    assert first["against_first"] is None
    assert second["against_first"]["coverage_ci95"] == [0.0, 0.0]
    assert [each["arm"] for each in types["examples"]] == ["rules", "embedded"]
    assert (lint["arms"], lint["examples"]) == ([], [])


def test_phrases_say_the_numbers() -> None:
    (types, lint) = restore_document(report([arm("rules"), arm("embedded")]))["operations"]
    assert heading(types) == "types: 3 of 9 parts hidden in 2 files (3 return)"
    assert heading(lint) == "lint: nothing to hide"
    shares = ["50 % (9 to 91)", "67 % (0 to 100)"]
    assert row(types["arms"][0]) == ["rules", 1, 0, 1, 1, *shares, 0, 0]
    assert list(details(types["arms"][1])) == [
        "embedded, by source: ranker: 2 written, 1 right",
        "embedded against the first arm: precision +0 % (the same in each file), "
        "coverage +0 % (the same in each file), restored +0 % (the same in each file)",
    ]


def test_kinds_of_parts_are_listed_if_there_are_several() -> None:
    results = list(arm("rules").results)
    results[2] = msgspec.structs.replace(results[2], kind="parameter")
    both = msgspec.structs.replace(arm("rules"), results=tuple(results))
    (types, _) = restore_document(report([both]))["operations"]
    kinds = "parameter: 0 of 1 written; return: 2 of 2 written, 1 right"
    assert next(details(types["arms"][0])) == f"rules, by kind: {kinds}"


def test_decisions_are_counted_if_a_model_was_asked() -> None:
    asked = msgspec.structs.replace(arm("rules"), requests=3, decided_by={"rule": 1200, "model": 3})
    (types, _) = restore_document(report([asked]))["operations"]
    assert "rules: 3 requests, decisions: rule 1,200, model 3" in details(types["arms"][0])


def test_errors_of_jobs_are_counted() -> None:
    failing = msgspec.structs.replace(arm("rules"), job_errors={"no answer": 2})
    (types, _) = restore_document(report([failing]))["operations"]
    assert next(details(types["arms"][0])) == "rules: 2 jobs ended with: no answer"


def test_an_arm_that_could_not_run_has_only_its_error() -> None:
    document = restore_document(report([arm("rules"), arm("http://h:1/v1", error="no server")]))
    failed = document["operations"][0]["arms"][1]
    assert (failed["error"], failed["precision"], failed["against_first"]) == (
        "no server",
        None,
        None,
    )
    assert list(details(failed)) == ["http://h:1/v1: no server"]
