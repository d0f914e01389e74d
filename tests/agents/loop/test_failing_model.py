"""A model that fails costs a job only the model's part: rules do the rest, and the error is kept."""

from collections.abc import Mapping
from typing import Any

import pytest

from remora.agents.definition.agent import Agent
from remora.agents.fork import fork_point_at
from remora.errors import ModelError
from remora.memory.events import AgentError, Escalation, ModelRequest, ToolCalled
from remora.models.protocol import Request
from tests.agents.conftest import Play, Played, Theatre, scripted
from tests.agents.loop.test_decider import OPEN, PUT, YAML, choice, own, play, put

GONE = ModelError("the server is gone", hint="start it")
RULES_THEN_OPEN = """
    from remora.pym import Input

    packet: dict = Input("packet")
    options: dict = Input("options")

    done = len(packet["recent_actions"])
    if not done:
        found = [{"tool": "put", "args": {"value": "1"}, "reason": "a rule"}]
    elif done < 3 and options["open"]:
        found = [{"tool": "put", "args": {}, "reason": "fill"}]
    else:
        found = [{"tool": "submit_result", "args": {}, "reason": "done"}]
    {"result": 0, "summary": "", "outcome": "success", "candidate_actions": found}
"""


def rules_then_open(theatre: Theatre) -> Agent:
    """A rule writes 1, then a model may replace it twice."""
    return theatre.agent(YAML.format(), put=PUT, pick=RULES_THEN_OPEN)


def deciders(played: Played) -> list[str]:
    return [call.decided_by for call in played.payloads(ToolCalled)]


def errors(played: Played) -> list[str]:
    return [error.kind for error in played.payloads(AgentError)]


class TestClosedQuestions:
    def test_after_two_answers_in_prose_the_first_candidate_is_taken(
        self, theatre: Theatre
    ) -> None:
        found = play(theatre, choice(theatre, "1", "2"), "I would say B", "B, as I said")
        assert found.after == b"x = 1\n"
        assert deciders(found) == ["fallback", "rule"]
        assert errors(found) == ["bad_call", "bad_call"]
        assert (found.result.status, found.result.stop_reason) == ("submitted", "model_error")
        assert str(found.result.error).startswith("two bad calls in a row: the answer is not JSON")
        assert (found.result.asked, found.result.differed) == (1, 0)

    def test_without_an_answer_the_first_candidate_is_taken(self, theatre: Theatre) -> None:
        found = play(theatre, choice(theatre, "1", "2"), GONE)
        assert found.after == b"x = 1\n"
        assert deciders(found) == ["fallback", "rule"]
        assert errors(found) == ["model_error"]
        assert (found.result.status, found.result.stop_reason) == ("submitted", "model_error")
        assert found.result.error == "the server is gone; start it"

    def test_a_question_that_is_too_large_is_not_asked(self, theatre: Theatre) -> None:
        found = play(theatre, choice(theatre, "1", "2"), limit=20)
        assert found.after == b"x = 1\n"
        assert found.payloads(ModelRequest) == []
        assert (found.result.status, found.result.stop_reason) == ("submitted", "packet_too_large")


class TestOpenQuestions:
    def test_what_rules_and_earlier_answers_wrote_is_kept(self, theatre: Theatre) -> None:
        found = play(theatre, rules_then_open(theatre), put("7"), GONE, put("9"), max_turns=9)
        assert found.after == b"x = 7\n"
        assert deciders(found) == ["rule", "model", "rule"]
        assert (found.result.status, found.result.stop_reason) == ("submitted", "model_error")

    def test_the_model_is_not_asked_again_in_this_job(self, theatre: Theatre) -> None:
        found = play(theatre, rules_then_open(theatre), GONE, put("9"), put("9"), samples=3)
        assert found.after == b"x = 1\n"
        assert len(found.payloads(ModelRequest)) == 1

    def test_a_job_in_which_nothing_is_left_to_do_by_rules_ends_with_the_error(
        self, theatre: Theatre
    ) -> None:
        found = play(theatre, own(theatre, OPEN), GONE)
        assert (found.result.status, found.result.stop_reason) == ("error", "model_error")
        assert found.result.error == "the server is gone; start it"
        assert found.after == b"x = 0\n"

    def test_a_fork_at_the_question_can_ask_it_again(self, theatre: Theatre) -> None:
        found = play(theatre, rules_then_open(theatre), GONE)
        point = fork_point_at(found.events, 2)
        assert point.decides
        assert [one.args for one in point.packet.candidate_actions] == [{}]


class TestEscalation:
    def test_the_larger_model_is_asked_if_the_smaller_one_fails(self, theatre: Theatre) -> None:
        larger = scripted([put("9")] * 2)
        found = play(theatre, own(theatre, OPEN), GONE, larger=larger)
        (step,) = found.payloads(Escalation)
        assert step.reason == "the server is gone"
        assert found.after == b"x = 9\n"
        assert (found.result.status, found.result.stop_reason) == ("submitted", "submitted")


def check_cuts(theatre: Theatre, how: Mapping[str, Any], step: int) -> Played:
    whole = theatre.play(Play(**how))
    for cut in range(1, len(whole.events), step):
        again = theatre.go_on(Play(**how), whole, cut)
        assert again.after == whole.after, f"cut after {cut} events"
        assert again.result.status == whole.result.status
        assert again.result.stop_reason == whole.result.stop_reason
        assert again.result.change_set == whole.result.change_set
    return whole


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
class TestResume:
    """A job that is cut off after any event ends as if it had not been."""

    def test_when_the_model_fails_after_an_answer(self, theatre: Theatre, step: int) -> None:
        def dies(request: Request) -> str | ModelError:
            assert request.messages is not None
            return GONE if "7" in request.messages[-1].content else put("7")

        agent = rules_then_open(theatre)
        whole = check_cuts(theatre, {"agent": agent, "answers": dies, "source": "x = 0\n"}, step)
        assert whole.after == b"x = 7\n"
        assert whole.result.stop_reason == "model_error"

    def test_when_the_smaller_model_fails_and_the_larger_one_answers(
        self, theatre: Theatre, step: int
    ) -> None:
        larger = scripted(lambda _: put("9"))
        agent = own(theatre, OPEN)
        how = {"agent": agent, "answers": lambda _: GONE, "larger": larger, "source": "x = 0\n"}
        assert check_cuts(theatre, how, step).after == b"x = 9\n"
