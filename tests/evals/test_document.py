"""An evaluation: its arms, targets, scores and document."""

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from remora.errors import UsageError
from remora.evals.arm_results import Target
from remora.evals.arms import OPTIONS, parse_arm
from remora.evals.document import eval_document
from remora.evals.phrases import details, failures, head, heading, row
from remora.evals.scores import differences, estimates, wilson_interval
from remora.evals.targets import sample
from tests.evals.results import arm, operation, report, result

PARTS = [result("a.py", "exact"), result("a.py", "different"), result("b.py", "left")]
RULES, EMBEDDED = arm("rules", *PARTS), arm("embedded", *PARTS)


def test_each_arm_has_its_shares_and_difference_to_the_first() -> None:
    document = eval_document(report(operation("types", RULES, EMBEDDED), operation("lint")))
    types, lint = document["operations"]
    first, second = types["arms"]
    assert (first["precision"], first["coverage"], first["restored"]) == (0.5, 0.6667, 0.3333)
    assert first["outcomes"] == {"exact": 1, "equivalent": 0, "different": 1, "left": 1}
    assert first["against_first"] is None
    assert second["against_first"]["coverage_ci95"] == [0.0, 0.0]
    assert [each["arm"] for each in types["examples"]] == ["rules", "embedded"]
    assert (lint["arms"], lint["examples"]) == ([], [])
    assert heading(types) == "types: 3 of 9 parts hidden in 2 files"
    assert heading(lint) == "lint: nothing to hide"
    assert head(types)[-3:] == ["PRECISION", "COVERAGE", "SECONDS"]
    shares = ["50 % (9 to 91)", "67 % (0 to 100)"]
    assert row(types, first) == ["rules", 1, 0, 1, 1, *shares, 0]
    assert list(details(types, second)) == [
        "embedded against the first arm: precision +0 % (the same in each file), "
        "coverage +0 % (the same in each file), restored +0 % (the same in each file)"
    ]


def test_jobs_are_counted_by_what_the_checks_say() -> None:
    jobs = arm("rules", result("a.py", "verified"), result("b.py", "nothing"))
    checked = replace(operation("test", jobs), basis="checks")
    (found,) = eval_document(report(checked))["operations"]
    assert heading(found) == "test: 2 of 9 jobs chosen in 2 files"
    assert head(found) == [
        *("ARM", "VERIFIED", "FAILED", "NOTHING"), *("SHARE", "SECONDS")
    ]  # fmt: skip
    assert row(found, found["arms"][0]) == ["rules", 1, 0, 1, "50 % (0 to 100)", 0]


def test_what_a_model_did_is_listed() -> None:
    both = replace(
        arm("m", *PARTS),
        requests=3,
        tokens=900,
        turns=7,
        jobs={"verified": 2},
        invalid=1,
        refused=2,
        decisions={"rule": 1200, "server": 3, "fallback": 0},
    )
    (found,) = eval_document(report(operation("types", both)))["operations"]
    assert list(details(found, found["arms"][0])) == [
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


SERVER = "http://127.0.0.1:8080/v1"
MODEL = {"runner.decisions": "model"}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("rules", {"model.provider": "none"}),
        ("configured", MODEL),
        ("configured,renderer=json", {**MODEL, "model.renderer": "json"}),
        ("configured,memory=raw", {**MODEL, "runner.memory.mode": "raw"}),
        (
            f"{SERVER},decoding=grammar,limit=600",
            {
                "model.provider": "openai",
                "model.base_url": SERVER,
                **MODEL,
                "model.decoding": "grammar",
                "runner.memory.packet_size_limit": 600,
            },
        ),
    ],
)
def test_an_arm_is_a_model_with_settings(text: str, settings: dict[str, Any]) -> None:
    arm = parse_arm(text)
    assert (arm.name, arm.settings) == (text, settings)


@pytest.mark.parametrize(
    "text",
    [
        *("", "rule", "127.0.0.1:8080", "rules,margin=1", "rules,decoding", "rules,decoding="),
        *("rules,memory=all", "rules,limit=x", "rules,limit=-1"),
    ],
)
def test_other_texts_are_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_arm(text)
    assert refused.value.hint.startswith("use ")
    assert not refused.value.hint.startswith("use decoding") or all(
        name in refused.value.hint for name in OPTIONS
    )


TARGETS = [
    Target(path=path, name=f"{number:02}")
    for path, total in (("large.py", 100), ("middle.py", 10), ("small.py", 1))
    for number in range(total)
]


def test_a_sample_is_spread_over_the_files_and_in_their_order() -> None:
    chosen = sample(TARGETS, 9, seed=0)
    assert Counter(each.path for each in chosen) == {"large.py": 4, "middle.py": 4, "small.py": 1}
    assert chosen == sorted(chosen)


def test_the_seed_decides() -> None:
    assert sample(TARGETS, 9, seed=1) == sample(reversed(TARGETS), 9, seed=1)
    assert sample(TARGETS, 9, seed=1) != sample(TARGETS, 9, seed=2)


def test_fewer_targets_than_wanted_are_all_taken() -> None:
    assert sample(TARGETS, 1000, seed=0) == sorted(TARGETS)
    assert sample(list[Target](), 5, seed=0) == []


def test_a_large_project_needs_only_some_of_its_files() -> None:
    many = [Target(path=f"m{n}.py", name=str(each)) for n in range(100) for each in range(9)]
    counts = Counter(each.path for each in sample(many, 40, seed=0))
    assert set(counts.values()) == {4}
    assert len(counts) == 10


MIXED = [
    result("a.py", "exact"),
    result("a.py", "different"),
    result("b.py", "equivalent"),
    result("b.py", "left"),
]


def test_written_texts_with_the_same_meaning_are_right() -> None:
    shares = {name: each.value for name, each in estimates("people", MIXED, seed=0).items()}
    assert shares == {"precision": pytest.approx(2 / 3), "coverage": 0.75, "restored": 0.5}


def test_verified_change_sets_are_right() -> None:
    jobs = [result("a.py", "verified"), result("a.py", "failed"), result("b.py", "nothing")]
    found = estimates("checks", jobs, seed=0)
    assert {name: each.value for name, each in found.items()} == {"verified": pytest.approx(1 / 3)}


def test_intervals_come_from_drawing_whole_files() -> None:
    unlike = [*[result("a.py", "exact")] * 50, *[result("b.py", "different")] * 50]
    found = estimates("people", unlike, seed=0)["precision"]
    assert found.interval == (0.0, 1.0), "each file alone has one of these precisions"
    assert found == estimates("people", unlike, seed=0)["precision"], "the seed decides"


def test_the_interval_of_few_parts_is_wide_also_if_all_agree() -> None:
    few, many = ([result(f"{n}.py", "exact") for n in range(number)] for number in (5, 100))
    intervals = [estimates("people", each, seed=0)["precision"].interval for each in (few, many)]
    assert intervals[0] == pytest.approx((0.566, 1.0), abs=0.001)
    assert intervals[1] == pytest.approx((0.963, 1.0), abs=0.001)


def test_the_wilson_interval_is_that_of_the_literature() -> None:
    """Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I."""
    for right, number, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson_interval(right / number, number) == pytest.approx((low, high), abs=1e-4)


def test_nothing_written_has_no_precision() -> None:
    found = estimates("people", [result("a.py", "left"), result("a.py", "left")], seed=0)
    assert (found["precision"].value, found["precision"].interval) == (None, None)
    assert found["coverage"].value == 0.0
    assert found["coverage"].interval == pytest.approx((0.0, 0.658), abs=0.001)


def test_arms_are_compared_on_the_same_files() -> None:
    better = [result("a.py", "exact"), result("a.py", "exact"), *MIXED[2:]]
    found = differences("people", MIXED, better, seed=0)
    assert found["restored"].value == 0.25
    assert found["coverage"].interval == (0.0, 0.0), "both wrote the same in each file"
    assert differences("people", MIXED, MIXED, seed=0)["precision"].interval == (0.0, 0.0)
