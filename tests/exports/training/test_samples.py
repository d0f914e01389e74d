"""Of several answers to one question, only those that passed the checks can be good examples."""

from typing import Any

from remora.chat import ToolCall
from remora.exports.training.decisions import model_decisions
from remora.exports.training.sft_rows import SAME_RESULT
from remora.memory.events import ModelResponse, TurnStart
from remora.models.protocol import Request
from tests.agents.conftest import SUBMIT, Play, Played, Theatre, loop, scripted, theatre
from tests.agents.loop.model_turns import PROSE, SOURCE, put, shown, writer
from tests.exports.conftest import rows

__all__ = ["loop", "theatre"]


def sft(played: Played) -> list[dict[str, Any]]:
    return rows(played.folder, "sft")


def columns(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def sampled(theatre: Theatre, *answers: str, **more: Any) -> Played:
    """A job in which a model is asked twice or more for its one call, and then submits."""
    left = [*answers, *[SUBMIT] * len(answers)]
    return theatre.play(
        Play(
            agent=writer(theatre, rules="[]"),
            answers=left,
            source=SOURCE,
            samples=len(answers),
            **more,
        )
    )


def test_only_the_answer_that_was_used_has_an_outcome(theatre: Theatre) -> None:
    broken, used, prose, *_ = sft(sampled(theatre, put("("), put("7"), PROSE))
    assert [row["sample"] for row in (broken, used, prose)] == [0, 1, 2]
    assert columns(broken, "kept", "outcome", "decided_by") == (False, None, None)
    assert broken["error"].startswith("mod.py: line 1: ")
    assert columns(used, "kept", "outcome", "decided_by", "error") == (
        True, "success", "model", None,
    )  # fmt: skip
    assert columns(prose, "kept", "outcome", "tool") == (None, None, None)
    assert prose["error"].startswith("bad_call: the answer has no tool call: 'I would say 7'")


def test_of_two_that_pass_the_first_is_used(theatre: Theatre) -> None:
    used, spare, *_ = sft(sampled(theatre, put("7"), put("8")))
    assert columns(used, "kept", "outcome", "args") == (True, "success", '{"value":"7"}')
    assert columns(spare, "kept", "outcome", "error") == (True, None, None)


def test_an_answer_that_changes_nothing_says_so(theatre: Theatre) -> None:
    for row in sft(sampled(theatre, put("0"), put("0")))[:2]:
        assert columns(row, "kept", "error") == (False, SAME_RESULT)


def test_a_larger_model_has_rows_of_its_own(theatre: Theatre) -> None:
    def larger(request: Request) -> str:
        return SUBMIT if "wrote 9" in shown(request) else put("9")

    answers = [put("("), SUBMIT]
    agent = writer(theatre, rules="[]")
    found = sft(
        theatre.play(Play(agent=agent, answers=answers, source=SOURCE, larger=scripted(larger)))
    )
    assert [row["decided_by"] for row in found] == ["model"] * 2 + ["escalation"] * 2


def test_a_response_without_a_request_is_ignored(theatre: Theatre) -> None:
    found = sampled(theatre, put("7"))
    turn = next(event for event in found.events if event.type == TurnStart.type)
    response = next(event for event in found.events if event.type == ModelResponse.type)
    for damaged in ([*found.events, turn, response], [*found.events, response, turn, response]):
        assert len(list(model_decisions(damaged, found.folder.blobs))) == 2


def test_functiongemma_rows_say_which_answers_were_kept(theatre: Theatre) -> None:
    made = rows(sampled(theatre, put("("), put("7")).folder, "functiongemma")
    assert [row["kept"] for row in made[:2]] == [False, True]
    assert made[1]["completion"] == (
        "<start_function_call>call:put{value:<escape>7<escape>}<end_function_call>"
    )


def test_native_calls_of_functiongemma_are_conversations(theatre: Theatre) -> None:
    play = Play(
        agent=writer(theatre, rules="[]"),
        answers=[ToolCall(tool="put", args={"value": "7"}), ToolCall(tool="submit_result")],
        strategy="string_tool_call",
        renderer="functiongemma_tools/1",
        source=SOURCE,
    )
    row, _ = sft(theatre.play(play))
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    (call,) = row["completion"][0]["tool_calls"]
    assert call["function"] == {"name": "put", "arguments": '{"value":"7"}'}
    assert columns(row, "kept", "outcome", "strategy") == (None, "success", "string_tool_call")
