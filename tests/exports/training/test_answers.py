"""Rows of answers: what became of each."""

from typing import Any

from remora.chat import ToolCall
from remora.exports.training.decisions import model_decisions
from remora.memory.events import ModelResponse, TurnStart
from remora.models.protocol import Request
from tests.agents.conftest import SUBMIT, Play, Played, Theatre, loop, scripted, theatre
from tests.agents.loop.model_turns import SOURCE, put, shown, writer
from tests.exports.conftest import rows

__all__ = ["loop", "theatre"]


def sft(played: Played) -> list[dict[str, Any]]:
    return rows(played.folder, "sft")


def columns(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


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
    answers = [put("7"), SUBMIT]
    agent = writer(theatre, rules="[]")
    found = theatre.play(Play(agent=agent, answers=answers, source=SOURCE))
    turn = next(event for event in found.events if event.type == TurnStart.type)
    response = next(event for event in found.events if event.type == ModelResponse.type)
    for damaged in ([*found.events, turn, response], [*found.events, response, turn, response]):
        assert len(list(model_decisions(damaged, found.folder.blobs))) == 2


def test_native_calls_of_functiongemma_are_conversations(theatre: Theatre) -> None:
    play = Play(
        agent=writer(theatre, rules="[]"),
        answers=[ToolCall(tool="put", args={"value": "7"}), ToolCall(tool="submit_result")],
        strategy="string_tool_call",
        renderer="functiongemma_tools/2",
        source=SOURCE,
    )
    row, _ = sft(theatre.play(play))
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    (call,) = row["completion"][0]["tool_calls"]
    assert call["function"] == {"name": "put", "arguments": '{"value":"7"}'}
    assert columns(row, "outcome", "strategy") == ("success", "string_tool_call")
