"""If the model's part fails, what the opening did is submitted."""

import pytest

from remora.errors import ModelError
from remora.memory.events import ModelRequest, SubmitResult
from tests.agents.conftest import SUBMIT, Play, Theatre
from tests.agents.loop.model_turns import (
    GONE,
    OPENED,
    PROSE,
    SOURCE,
    a_play,
    by_turn,
    call,
    cut_everywhere,
    deciders,
    ending,
    errors,
    play,
    put,
    tools,
    undo,
    updates,
    writer,
)

BROKEN = "parses: mod.py: line 1: '(' was never closed"
FAILURES: dict[str, tuple[dict[int, str | ModelError], int, str | None]] = {
    "max_turns": ({2: put("7"), 3: put("TEXT"), 4: put("9")}, 3, "not done after 3 turns"),
    "model_error": ({2: put("TEXT"), 3: GONE}, 20, "the server is gone; start it"),
    "repeated_call": ({2: put("TEXT"), **dict.fromkeys(range(3, 20), undo(7))}, 20, None),
    "no_progress": ({2: put("TEXT"), **{n: call("recall", ref="turn:1", lines=[1 + n % 2, 2]) for n in range(3, 20)}}, 20, None),
}  # fmt: skip


def failing(reason: str, text: str) -> tuple[dict[int, str | ModelError], int, str | None]:
    """A model's answers, the last of which writes the text, and how its part ends."""
    answers, most, error = FAILURES[reason]
    return {
        turn: answer.replace("TEXT", text) if isinstance(answer, str) else answer
        for turn, answer in answers.items()
    }, most, error  # fmt: skip


@pytest.mark.parametrize("reason", FAILURES)
def test_what_passes_the_checks_is_submitted_with_the_reason(theatre: Theatre, reason: str) -> None:
    answers, most, error = failing(reason, "8")
    found = play(theatre, writer(theatre), answers, max_turns=most)
    assert found.after == b"x = 8\ny = 0\n"
    assert ending(found) == ("submitted", reason)
    assert error is None or found.result.error == error
    ((_, stop_reason, _),) = updates(found, "floor")
    assert stop_reason == reason
    assert (tools(found)[-1], deciders(found)[-1]) == ("submit_result", "rule")
    assert [one.verified for one in found.payloads(SubmitResult)] == [True]


@pytest.mark.parametrize("reason", FAILURES)
def test_otherwise_what_the_opening_did_is_submitted(theatre: Theatre, reason: str) -> None:
    answers, most, _ = failing(reason, "(")
    found = play(theatre, writer(theatre), answers, max_turns=most)
    assert (found.after, ending(found)) == (OPENED, ("submitted", reason))
    assert tools(found)[-3:] == ["submit_result", "undo", "submit_result"]
    assert deciders(found)[-3:] == ["rule"] * 3
    assert found.payloads(SubmitResult)[-1].summary == "by rule"


def test_what_was_refused_is_not_submitted_again(theatre: Theatre) -> None:
    found = play(theatre, writer(theatre), {2: put("(")})
    assert (found.after, ending(found)) == (OPENED, ("submitted", "verification"))
    assert found.result.error == BROKEN
    assert tools(found)[-2:] == ["undo", "submit_result"]


@pytest.mark.slow
@pytest.mark.parametrize("reason", FAILURES)
def test_resumed(theatre: Theatre, reason: str) -> None:
    answers, most, _ = failing(reason, "(")
    found = cut_everywhere(theatre, a_play(writer(theatre), answers, max_turns=most))
    assert (found.after, ending(found)) == (OPENED, ("submitted", reason))


def test_invalid_calls_or_a_packet_that_is_too_large(theatre: Theatre) -> None:
    found = play(theatre, writer(theatre), {2: put("7"), **dict.fromkeys(range(3, 9), PROSE)})
    assert errors(found) == ["bad_call"] * 3 + ["invalid_calls"]
    assert (found.after, ending(found)) == (b"x = 7\ny = 0\n", ("submitted", "model_error"))
    found = play(theatre, writer(theatre), {}, limit=20)
    assert found.payloads(ModelRequest) == []
    assert (found.after, ending(found)) == (OPENED, ("submitted", "packet_too_large"))
    assert tools(found) == ["put", "submit_result"], "there is nothing to undo"


def test_without_changes_that_pass_the_job_fails(theatre: Theatre) -> None:
    found = play(theatre, writer(theatre, rules="[]"), {1: GONE})
    assert updates(found, "floor") == []
    assert ending(found) == ("error", "model_error")
    found = play(theatre, writer(theatre), {1: put("("), 2: GONE}, opening=False)
    assert [one.verified for one in found.payloads(SubmitResult)] == [False]
    assert ending(found) == ("error", "model_error")
    found = play(theatre, writer(theatre, rules='[put(value="(")]'), {2: GONE})
    assert [one.verified for one in found.payloads(SubmitResult)] == [False]
    assert ending(found) == ("error", "model_error")


class TestUndoneOpening:
    RULES = '[put(value="1"), put(value="1", line=2)]'

    def test_what_the_model_took_back_stays_taken_back(self, theatre: Theatre) -> None:
        agent = writer(theatre, rules=self.RULES)
        found = play(theatre, agent, {3: put("7"), 4: undo(2), 5: put("("), 6: SUBMIT})
        assert found.after == b"x = 1\ny = 0\n"
        assert ending(found) == ("submitted", "verification")
        assert tools(found)[-2:] == ["undo", "submit_result"]
        agent = writer(theatre, rules=self.RULES)
        found = play(theatre, agent, {3: undo(1), 4: put("(")})
        assert updates(found, "floor") == []
        assert ending(found) == ("failed", "verification")

    @pytest.mark.slow
    def test_resumed(self, theatre: Theatre) -> None:
        agent = writer(theatre, rules=self.RULES)
        answers: dict[int, str | ModelError] = {3: put("7"), 4: undo(2), 5: put("("), 6: GONE}
        found = cut_everywhere(theatre, a_play(agent, answers))
        assert (found.after, ending(found)) == (b"x = 1\ny = 0\n", ("submitted", "model_error"))


def test_the_model_is_not_asked_again(theatre: Theatre) -> None:
    agent = writer(theatre)
    how = Play(agent=agent, answers=by_turn({2: GONE}), source=SOURCE)
    assert len(theatre.play(how).payloads(ModelRequest)) == 1
