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
    "verification": ({2: put("(")}, 20, BROKEN),
    "max_turns": ({2: put("7"), 3: put("8"), 4: put("9")}, 3, "not done after 3 turns"),
    "model_error": ({2: put("7"), 3: GONE}, 20, "the server is gone; start it"),
    "repeated_call": ({2: put("7"), **dict.fromkeys(range(3, 20), undo(7))}, 20, None),
    "no_progress": ({2: put("7"), **{n: call("recall", ref="turn:1", lines=[1 + n % 2, 2]) for n in range(3, 20)}}, 20, None),
}  # fmt: skip


@pytest.mark.parametrize("reason", FAILURES)
def test_what_the_opening_did_is_submitted_with_the_reason(theatre: Theatre, reason: str) -> None:
    answers, most, error = FAILURES[reason]
    found = play(theatre, writer(theatre), answers, max_turns=most)
    assert found.after == OPENED
    assert ending(found) == ("submitted", reason)
    assert error is None or found.result.error == error
    (fall,) = updates(found, "floor")
    assert fall[1] == reason
    assert tools(found)[-2:] == ["undo", "submit_result"]
    assert deciders(found)[-2:] == ["rule", "rule"]
    assert found.payloads(SubmitResult)[-1].summary == "by rule"


@pytest.mark.slow
@pytest.mark.parametrize("reason", FAILURES)
def test_resumed(theatre: Theatre, reason: str) -> None:
    answers, most, _ = FAILURES[reason]
    found = cut_everywhere(theatre, a_play(writer(theatre), answers, max_turns=most))
    assert (found.after, ending(found)) == (OPENED, ("submitted", reason))


def test_invalid_calls_or_a_packet_that_is_too_large(theatre: Theatre) -> None:
    found = play(theatre, writer(theatre), {2: put("7"), **dict.fromkeys(range(3, 9), PROSE)})
    assert errors(found) == ["bad_call"] * 3 + ["invalid_calls"]
    assert (found.after, ending(found)) == (OPENED, ("submitted", "model_error"))
    found = play(theatre, writer(theatre), {}, limit=20)
    assert found.payloads(ModelRequest) == []
    assert (found.after, ending(found)) == (OPENED, ("submitted", "packet_too_large"))
    assert tools(found) == ["put", "submit_result"], "there is nothing to undo"


def test_without_an_opening_or_changes_by_rules_the_job_fails(theatre: Theatre) -> None:
    found = play(theatre, writer(theatre, rules="[]"), {1: put("7"), 2: GONE})
    assert updates(found, "floor") == []
    assert ending(found) == ("error", "model_error")
    found = play(theatre, writer(theatre), {1: put("7"), 2: GONE}, opening=False)
    assert updates(found, "floor") == []
    assert ending(found) == ("error", "model_error")
    found = play(theatre, writer(theatre, rules='[put(value="(")]'), {2: GONE})
    assert [one.verified for one in found.payloads(SubmitResult)] == [False]
    assert ending(found) == ("failed", "verification")


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
        answers: dict[int, str | ModelError] = {3: put("7"), 4: undo(2), 5: put("8"), 6: GONE}
        found = cut_everywhere(theatre, a_play(agent, answers))
        assert (found.after, ending(found)) == (b"x = 1\ny = 0\n", ("submitted", "model_error"))


def test_the_model_is_not_asked_again(theatre: Theatre) -> None:
    agent = writer(theatre)
    how = Play(agent=agent, answers=by_turn({2: GONE}), source=SOURCE)
    assert len(theatre.play(how).payloads(ModelRequest)) == 1
