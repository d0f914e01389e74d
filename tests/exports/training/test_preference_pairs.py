"""Preference pairs: only where someone preferred, and nobody is said to have who did not."""

from typing import Any

import pytest

from remora.exports.run_bundles import bundle_of_agent
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, flip, only, rows


def attempts(folder: TraceFolder, **verdicts: str | None) -> Run:
    """One run of the node's attempts; each begins by choosing the letter its name ends with."""
    run = Run(folder)
    for number, (name, verdict) in enumerate(verdicts.items(), 1):
        agent = f"lint-{name}"
        run.began(agent, number)
        told = "leave it" if name.startswith("told") else None
        attempt = Attempt(folder, agent, feedback=told)
        attempt.choose(name[-1].upper(), by="fallback")
        run.ended(agent, attempt.end())
        if verdict is not None:
            run.said(agent, verdict, "leave it" if verdict == "retried" else None)
    run.close()
    return run


def content(messages: list[dict[str, Any]]) -> str:
    (message,) = messages
    assert message["role"] == "assistant"
    return str(message["content"])


def test_two_answers_to_one_prompt_of_which_a_person_accepted_one(folder: TraceFolder) -> None:
    attempts(folder, first_a="rejected", second_b="accepted")
    (pair,) = rows(folder, "preference")
    assert (pair["source"], pair["preferred_by"]) == ("verdict", "person")
    assert (content(pair["chosen"]), content(pair["rejected"])) == ("B", "A")
    assert (pair["chosen_agent_id"], pair["rejected_agent_id"]) == ("lint-second_b", "lint-first_a")
    assert (pair["chosen_verdict"], pair["rejected_verdict"]) == ("accepted", "rejected")
    assert pair["prompt"] == pair["chosen_prompt"]
    assert pair["same_prompt"]


def test_a_retry_that_was_told_why(folder: TraceFolder) -> None:
    """The two prompts differ by the feedback; both are there, and the row says so."""
    attempts(folder, first_a="retried", told_b="accepted")
    (pair,) = rows(folder, "preference")
    assert (pair["source"], pair["same_prompt"]) == ("retry", False)
    assert pair["feedback"] == "leave it"
    assert "leave it" in pair["chosen_prompt"][1]["content"]
    assert "leave it" not in pair["prompt"][1]["content"]
    (rejected,) = rows(folder, "sft", only(bundle_of_agent(folder, "lint-first_a")))
    assert pair["prompt"] == rejected["prompt"], "byte for byte what the first attempt was sent"


@pytest.mark.parametrize(
    "verdicts",
    [
        {"first_a": "rejected", "second_b": None},
        {"first_a": None, "second_b": "accepted"},
        {"first_a": "rejected", "second_b": "rejected"},
        {"first_a": "accepted", "second_b": "accepted"},
        {"first_a": "conflict", "second_b": "accepted"},
        {"first_a": "reverted", "second_b": "accepted"},
        {"first_a": "rejected", "second_a": "accepted"},
    ],
    ids=lambda verdicts: "-".join(f"{k}:{v}" for k, v in verdicts.items()),
)
def test_without_a_preference_there_is_no_pair(
    folder: TraceFolder, verdicts: dict[str, str | None]
) -> None:
    """Nor where both attempts said the same."""
    attempts(folder, **verdicts)
    assert rows(folder, "preference") == []


def test_a_later_verdict_overrides(folder: TraceFolder) -> None:
    run = Run(folder)
    for name, letter in (("lint-a", "A"), ("lint-b", "B")):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose(letter, by="fallback")
        run.ended(name, attempt.end())
        run.said(name, "accepted")
    run.said("lint-a", "rejected")
    run.close()
    (pair,) = rows(folder, "preference")
    assert pair["rejected_agent_id"] == "lint-a"


def test_a_pair_needs_the_same_packet(folder: TraceFolder) -> None:
    run = Run(folder)
    for name, goal, verdict in (("lint-a", "one", "rejected"), ("lint-b", "other", "accepted")):
        run.began(name)
        attempt = Attempt(folder, name, goal=goal)
        attempt.choose(name[-1].upper(), by="fallback")
        run.ended(name, attempt.end())
        run.said(name, verdict)
    run.close()
    assert rows(folder, "preference") == []


def test_the_chosen_candidate_counts_and_not_the_answer(folder: TraceFolder) -> None:
    """Both said B; the gate let the rejected attempt take A, and a person turned that down."""
    run = Run(folder)
    for name, taken, verdict in (("lint-a", "A", "rejected"), ("lint-b", "B", "accepted")):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose("B", by="fallback", taken=taken)
        run.ended(name, attempt.end())
        run.said(name, verdict)
    run.close()
    (pair,) = rows(folder, "preference")
    assert (content(pair["chosen"]), content(pair["rejected"])) == ("B", "A")


class TestScores:
    def one(self, folder: TraceFolder, verdict: str | None, *, by: str = "model") -> list[Any]:
        run = Run(folder)
        run.began("lint-a")
        attempt = Attempt(folder, "lint-a")
        attempt.choose("B", by=by)
        run.ended("lint-a", attempt.end())
        if verdict:
            run.said("lint-a", verdict)
        run.close()
        return rows(folder, "preference")

    @pytest.mark.parametrize("verdict", [None, "accepted"])
    def test_the_models_own_preference_is_reported(
        self, folder: TraceFolder, verdict: str | None
    ) -> None:
        (pair,) = self.one(folder, verdict)
        assert (pair["source"], pair["preferred_by"]) == ("scores", "model")
        assert (content(pair["chosen"]), content(pair["rejected"])) == ("B", "A")
        assert pair["margin"] == pytest.approx(2.4)
        assert pair["chosen_verdict"] == verdict
        assert (pair["chosen_outcome"], pair["rejected_outcome"]) == ("success", None)
        assert (pair["chosen_args"], pair["rejected_args"]) == ('{"line":2}', '{"line":1}')

    @pytest.mark.parametrize("verdict", ["rejected", "retried"])
    def test_not_where_a_person_turned_it_down(self, folder: TraceFolder, verdict: str) -> None:
        assert self.one(folder, verdict) == []

    def test_not_where_the_gate_decided(self, folder: TraceFolder) -> None:
        assert self.one(folder, None, by="fallback") == []


def test_of_one_agent_its_own_pairs(folder: TraceFolder) -> None:
    attempts(folder, first_a="rejected", second_b="accepted", third_a="rejected")
    assert len(rows(folder, "preference")) == 2
    group = bundle_of_agent(folder, "lint-third_a")
    (pair,) = rows(folder, "preference", only(group))
    assert pair["rejected_agent_id"] == "lint-third_a"


def test_a_damaged_attempt_is_skipped(folder: TraceFolder) -> None:
    attempts(folder, first_a="rejected", second_b="accepted", third_a="rejected")
    flip(folder.agent_stream("lint-first_a"), b"done")
    (pair,) = rows(folder, "preference")
    assert pair["rejected_agent_id"] == "lint-third_a"


def test_plain_prompts_are_paired_as_texts(folder: TraceFolder) -> None:
    run = Run(folder)
    for name, line, verdict in (("lint-a", 1, "rejected"), ("lint-b", 2, "accepted")):
        run.began(name)
        attempt = Attempt(folder, name, asked=("functiongemma/1", "completion"))
        attempt.ask()
        attempt.answer(f"<start_function_call>call:fix{{line:{line}}}<end_function_call>")
        attempt.act({"line": line}, choice=line - 1)
        run.ended(name, attempt.end())
        run.said(name, verdict)
    run.close()
    (pair,) = rows(folder, "preference")
    assert pair["prompt"].startswith("<start_of_turn>developer")
    assert pair["chosen"] == "<start_function_call>call:fix{line:2}<end_function_call>"
    assert pair["rejected"] == "<start_function_call>call:fix{line:1}<end_function_call>"
