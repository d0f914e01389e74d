"""How people are told what became of jobs: what was fixed, what was left, and why."""

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.cli.views.job_view import job_lines, review_counts
from remora.cli.views.run_view import totals_line
from remora.runs.records.findings import done_text

WORD = st.text("abcdefgh", min_size=1, max_size=12)
CODES = st.dictionaries(
    st.sampled_from(["E501", "F401", "UP045", "B006", "SIM102"]), st.integers(1, 3)
)


def job(node: str = "a.py:f", **said: Any) -> dict[str, Any]:
    """A job's document; tested and pending unless it is said otherwise."""
    return {
        "agent_id": "lint-0123456789ab",
        "operation": "lint",
        "node_id": f"node:{node}",
        "status": "verified",
        "proof": "tested",
        "review": "pending",
        "turns": 3,
        "decided_by": {"rule": 3, "model": 0, "fallback": 0, "escalation": 0},
        "findings": None,
        "conflicts": [],
        "branch": None,
        "error": None,
        "why": None,
        "left": [],
        "same": False,
        **said,
    }


def shown(*jobs: dict[str, Any], width: int | None = 80, verbose: bool = False) -> list[str]:
    return [click.unstyle(line) for line in job_lines(jobs, width, verbose=verbose)]


def findings(before: dict[str, int], after: dict[str, int]) -> dict[str, Any]:
    return {"findings": {"before": before, "after": after}}


def test_a_line_says_what_was_fixed_and_what_was_left() -> None:
    found = findings({"UP045": 1, "F401": 2, "E501": 1}, {"E501": 1})
    by = {"rule": 2, "model": 1, "fallback": 0, "escalation": 0}
    assert shown(job(**found, decided_by=by)) == [
        "a.py",
        "  tested  f  fixes F401 x2, UP045; left E501 · model 1",
    ]


@pytest.mark.parametrize(("proof", "word"), [("tested", "tested"), ("parsed", "checked")])
def test_a_change_that_no_test_ran_with_is_only_checked(proof: str, word: str) -> None:
    assert shown(job(proof=proof))[1].split()[0] == word


def test_a_job_that_rules_completed_says_why_the_model_did_not() -> None:
    (_, line, reason) = shown(job(stop_reason="model_error", error="the server is gone"))
    assert line.startswith("  tested  f")
    assert reason.strip() == "the server is gone"


def test_why_nothing_changed_is_reported() -> None:
    lines = shown(job(status="no_change", review="", error="ruff could not be started"))
    assert lines[1:] == ["  no change  f  3 turns", "             ruff could not be started"]
    failed = {"status": "failed", "review": "", "error": "parses: line 3: invalid syntax"}
    (_, line, reason) = shown(job(**findings({"F401": 2}, {}), **failed))
    assert line == "  failed  f  left F401 x2"
    assert reason.strip() == "parses: line 3: invalid syntax"


def unchanged(node: str, why: str = "", **said: Any) -> dict[str, Any]:
    return job(node, status="no_change", review="", why=why, **said)


def test_what_changed_nothing_is_one_line_of_its_file() -> None:
    left = findings({"E711": 1, "E501": 2}, {"E711": 1, "E501": 2})
    lines = shown(
        unchanged("a.py:f", **left), job("a.py:g"), unchanged("a.py:h", **left), unchanged("b.py:f")
    )
    assert lines == [
        "a.py",
        "  tested     g  3 turns",
        "  no change  2 parts  left E501 x4, E711 x2",
        "b.py",
        "  no change  f  3 turns",
    ]


def test_a_part_that_failed_is_not_folded_away() -> None:
    lines = shown(unchanged("a.py:f"), unchanged("a.py:g"), unchanged("a.py:h", error="no ruff"))
    assert [line.split("  ")[-1].strip() for line in lines[1:]] == [
        "3 turns", "no ruff", "2 parts",
    ]  # fmt: skip


def test_verbose_shows_each_with_its_reason() -> None:
    lines = shown(unchanged("a.py:f", "no fix"), unchanged("a.py:g", "as it is"), verbose=True)
    assert [line.strip() for line in lines if not line.startswith("  no change")] == [
        "a.py",
        "no fix", "lint-0123456789ab, 3 turns: rule 3",
        "as it is", "lint-0123456789ab, 3 turns: rule 3",
    ]  # fmt: skip


def test_the_place_of_a_conflict_is_shown() -> None:
    conflict = {
        "node_id": "node:a.py:f",
        "path": "a.py",
        "detail": "lines 3-4 changed on both sides",
    }
    found = findings({"F401": 1}, {})
    lines = shown(job(review="conflict", conflicts=[conflict], **found))
    assert lines[1] == "  conflict  f  would fix F401"
    assert lines[-1].strip() == "a.py: lines 3-4 changed on both sides"
    (_, _, why) = shown(job(review="stale", **found))
    assert why.strip() == "you edited it while the agent was working on it"


def test_jobs_are_listed_below_their_file_with_the_operation_if_several() -> None:
    lines = shown(job("a.py:f"), job("a.py:g", operation="docstring"), job("b.py:__module__"))
    assert [line for line in lines if not line.startswith(" ")] == ["a.py", "b.py"]
    assert "docstring g" in lines[2]


def test_a_wide_terminal_gives_names_the_room_to_be_aligned() -> None:
    jobs = [job("a.py:f"), job("a.py:" + "n" * 50)]
    places = {line.index("3 turns") for line in shown(*jobs, width=160)[1:]}
    assert places == {line.index("3 turns") for line in shown(*jobs, width=None)[1:]}
    assert len(places) == 1
    assert len({line.index("3 turns") for line in shown(*jobs, width=80)[1:]}) == 2


def test_accepted_on_a_branch_is_distinguished_from_accepted_in_files() -> None:
    found = findings({"F401": 1}, {})
    assert shown(
        job("a.py:f", review="accepted", **found),
        job("a.py:g", review="accepted", branch="fixes", **found),
    ) == ["a.py", "  accepted  f  fixed F401", "  accepted  g  fixed F401 · on branch fixes"]


def test_the_totals_add_up_to_all_jobs() -> None:
    jobs = [job(), job(), job(review="conflict"), job(review="", status="no_change")]
    assert click.unstyle(review_counts(jobs)) == "2 tested, 1 conflict, 1 no change"
    document = {
        "jobs": jobs,
        "totals": {"jobs": 5, "skipped": 30, "unreadable": [{"path": "a.py"}]},
    }
    told = "2 tested, 1 conflict, 1 no change, 1 not started, 1 file could not be read"
    assert click.unstyle(totals_line(document)) == told


@given(
    names=st.lists(WORD, min_size=1, max_size=4),
    before=CODES,
    after=CODES,
    reason=st.lists(WORD, max_size=30),
)
def test_at_80_columns_nothing_is_cut_and_no_word_is_broken(
    names: list[str], before: dict[str, int], after: dict[str, int], reason: list[str]
) -> None:
    jobs = [
        job(
            f"a.py:{name}",
            status="failed",
            review="",
            error=" ".join(reason),
            **findings(before, after),
        )
        for name in names
    ]
    lines = shown(*jobs)
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == " ".join(shown(*jobs, width=None)).split()


@given(CODES, CODES)
def test_every_code_that_is_left_or_fixed_is_named(
    fixed: dict[str, int], left: dict[str, int]
) -> None:
    told = done_text(fixed, left)
    assert all(code in told for code in (*fixed, *left))
    assert ("fixes" in told, "left" in told) == (bool(fixed), bool(left))
