"""Of several answers to one question, only those that passed the checks can be good examples."""

from typing import Any

from remora.chat import ToolCall
from remora.exports.training.decisions import model_decisions
from remora.exports.training.sft_rows import SAME_RESULT
from remora.memory.events import ModelRequest, ModelResponse, TurnStart
from tests.agents.conftest import Play, Played, Theatre, loop, theatre
from tests.agents.loop.test_decider import OPEN, PICK, PUT, YAML, choice, everything, own, put
from tests.exports.conftest import rows
from tests.offered_calls import choose

__all__ = ["loop", "theatre"]


def sft(played: Played) -> list[dict[str, Any]]:
    return rows(played.folder, "sft")


def columns(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_samples_trials_and_an_escalation(theatre: Theatre) -> None:
    """Two answers of the small model fail; of two of the larger one, the first is used."""
    found = theatre.play(everything(own(theatre, OPEN)))
    assert len(found.payloads(ModelRequest)) == 4
    first, second, used, spare = sft(found)
    assert [row["sample"] for row in (first, second, used, spare)] == [0, 1, 0, 1]
    for row in (first, second):
        assert columns(row, "kept", "outcome", "decided_by") == (False, None, None)
        assert row["error"].startswith("parses: mod.py")
    assert columns(spare, "kept", "args", "outcome", "decided_by", "error") == (
        True, '{"value":"9"}', None, None, None,
    )  # fmt: skip
    assert columns(used, "kept", "args", "outcome", "decided_by", "error") == (
        True, '{"value":"8"}', "success", "escalation", None,
    )  # fmt: skip
    assert {row["verified"] for row in (first, second, spare, used)} == {True}


def test_only_the_answer_that_was_used_has_an_outcome(theatre: Theatre) -> None:
    play = Play(
        agent=own(theatre, OPEN), answers=[put("7"), put("("), "prose"], source="x = 0\n", samples=3
    )
    used, broken, prose = sft(theatre.play(play))
    assert columns(used, "kept", "outcome", "decided_by") == (True, "success", "model")
    assert columns(broken, "kept", "outcome", "tool") == (False, None, "put")
    assert columns(prose, "kept", "outcome", "tool") == (None, None, None)
    assert prose["error"] == "bad_call: the answer is not JSON: Expecting value"


def test_an_answer_that_changes_nothing_says_so(theatre: Theatre) -> None:
    play = Play(agent=own(theatre, OPEN), answers=[put("0"), put("0")], source="x = 0\n", samples=2)
    for row in sft(theatre.play(play)):
        assert columns(row, "kept", "outcome") == (False, None)
        assert row["error"] == SAME_RESULT


def test_an_answer_with_the_same_result_as_another_one_says_so(theatre: Theatre) -> None:
    strip = PUT.replace('"x = " + value', '"x = " + value.strip()')
    agent = theatre.agent(YAML.format(), put=strip, pick=PICK.replace("FOUND", OPEN))
    play = Play(agent=agent, answers=[put("7"), put("7 ")], source="x = 0\n", samples=2)
    first, second = sft(theatre.play(play))
    assert columns(first, "kept", "error") == (True, None)
    assert columns(second, "kept", "error") == (False, SAME_RESULT)


def test_a_response_without_a_request_is_ignored(theatre: Theatre) -> None:
    found = theatre.play(Play(agent=own(theatre, OPEN), answers=[put("7")], source="x = 0\n"))
    turn = next(event for event in found.events if event.type == TurnStart.type)
    response = next(event for event in found.events if event.type == ModelResponse.type)
    for damaged in ([*found.events, turn, response], [*found.events, response, turn, response]):
        (one,) = model_decisions(damaged, found.folder.blobs)
        assert one.trial is not None


def test_a_choice_is_a_row(theatre: Theatre) -> None:
    play = Play(agent=choice(theatre, "1", "2"), answers=choose(1), writes=False, source="x = 0\n")
    (row,) = sft(theatre.play(play))
    assert columns(row, "decided_by", "kept", "outcome") == ("model", None, "success")


def test_functiongemma_rows_say_which_answers_were_kept(theatre: Theatre) -> None:
    found = theatre.play(everything(own(theatre, OPEN)))
    made = rows(found.folder, "functiongemma")
    assert [row["kept"] for row in made] == [False, False, True, True]
    assert made[-1]["completion"] == (
        "<start_function_call>call:put{value:<escape>9<escape>}<end_function_call>"
    )


def test_native_calls_of_functiongemma_are_conversations(theatre: Theatre) -> None:
    play = Play(
        agent=own(theatre, OPEN),
        answers=[ToolCall(tool="put", args={"value": "7"})],
        strategy="string_tool_call",
        renderer="functiongemma_tools/1",
        source="x = 0\n",
    )
    (row,) = sft(theatre.play(play))
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    (call,) = row["completion"][0]["tool_calls"]
    assert call["function"] == {"name": "put", "arguments": '{"value":"7"}'}
    assert columns(row, "kept", "outcome", "strategy") == (True, "success", "string_tool_call")
