"""A model that is guided chooses one of the suggestions, and fills in what it leaves open."""

import re

import pytest

from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.models.protocol import Strategy
from tests.agents.conftest import Play, Played, Theatre
from tests.agents.loop.model_turns import SOURCE, call, errors, put, replayed, shown, tools, writer

SLOT = '{"value": {"maxLength": 3, "pattern": "^[^\\\\x00-\\\\x1f\\"\\\\\\\\]{0,3}$"}}'
SUGGESTED = (
    f'[{{"tool": "put", "args": {{"line": 1}}, "reason": "the first", "slots": {SLOT}}},'
    f' {{"tool": "put", "args": {{"line": 2}}, "reason": "the second", "slots": {SLOT}}},'
    ' {"tool": "submit_result", "args": {}, "reason": "if both are right"}]'
)
FIRST, SECOND, END = put("7", line=1), put("8", line=2), call("submit_result")


WHOLE = (
    '[{"tool": "put", "args": {"value": "7"}, "reason": "the first"},'
    ' {"tool": "put", "args": {"value": "8"}, "reason": "the second"},'
    ' {"tool": "submit_result", "args": {}, "reason": "the first"}]'
)


def guided(
    theatre: Theatre, *answers: str, suggested: str = SUGGESTED, strategy: Strategy = "grammar"
) -> Played:
    agent = writer(theatre, rules="[]", suggested=suggested)
    how = Play(
        agent=agent, answers=[*answers], source=SOURCE, renderer="guided/1", strategy=strategy
    )
    return replayed(theatre.play(how))


def test_only_a_suggestion_with_its_open_arguments_can_be_answered(theatre: Theatre) -> None:
    found = guided(theatre, FIRST, SECOND, END)
    assert found.after == b"x = 7\ny = 8\n"
    first, *others = found.payloads(ModelRequest)
    assert [one.choice for one in found.payloads(ToolCalled)] == [0, 1, 2]
    grammar = first.decoding["grammar"]
    assert grammar.count('{\\"tool\\":') == 3
    assert r'[^\x00-\x1f"\\]{0,3}' in grammar
    assert [*re.findall(r'"(\d)"', grammar)] == ["1", "2"], "the lines are constants"
    question = shown(found.model.requests[0])  # type: ignore[attr-defined]
    assert "- put(line=2, value) - the second" in question
    assert question.endswith("\nthe first")
    assert "Turn" not in question
    system = {one.messages[0]["content"] for one in (first, *others) if one.messages}
    assert len(system) == 1, "servers keep what all prompts begin with"


@pytest.mark.parametrize(
    ("strategy", "second", "shape"),
    [("grammar", "B", 'root ::= "A" | "B" | "C"\n'), ("json_schema", '{"answer": "B"}', "enum")],
)
def test_suggestions_that_leave_nothing_open_are_chosen_by_a_letter(
    theatre: Theatre, strategy: Strategy, second: str, shape: str
) -> None:
    found = guided(theatre, second, "D", "C", suggested=WHOLE, strategy=strategy)
    assert found.after == b"x = 8\ny = 0\n"
    assert shape in found.payloads(ModelRequest)[0].decoding["grammar"]
    question = shown(found.model.requests[0])  # type: ignore[attr-defined]
    assert question.startswith('Answers:\nA: put(value="7")\nB: put(value="8") - the second\n')
    assert question.count("the first") == 1, "it is the reason of two"
    assert [one.text for one in found.payloads(ModelResponse)] == [second, "D", "C"], "as given"
    assert [(one.args, one.choice) for one in found.payloads(ToolCalled)] == [
        ({"value": "8"}, 1),
        ({}, 2),
    ]
    assert errors(found) == ["bad_call"], "D is no answer"


def test_other_answers_are_refused_where_a_server_ignores_the_grammar(theatre: Theatre) -> None:
    one = f'[{{"tool": "put", "args": {{"line": 1}}, "slots": {SLOT}}}]'
    prose = guided(theatre, *["I would say 7"] * 3, suggested=one)
    hint = "the server at None ignores the grammar; set model.asks to free"
    assert prose.payloads(AgentError)[0].hint.startswith(hint)
    assert hint in str(prose.result.error)
    found = guided(theatre, put("7", line=3), put("1234", line=1), call("recall", ref="", lines=[]))
    assert errors(found)[:3] == ["bad_call"] * 3
    messages = [error.message for error in found.payloads(AgentError)]
    assert messages[0] == "put: not one of the answers"
    assert "value is '1234', against" in messages[1]


def test_the_reason_of_a_refusal_is_shown_and_the_next_answer_is_sampled_in_another_way(
    theatre: Theatre,
) -> None:
    found = guided(theatre, *[put("1\\n2", line=1)] * 2, FIRST, END)
    sampling = [one.decoding["temperature"] for one in found.payloads(ModelRequest)]
    assert len({*sampling[:3]}) == 3
    assert sampling[3] == sampling[0], "the next slot begins again"
    assert "Not done: put: " in shown(found.model.requests[1])  # type: ignore[attr-defined]
    assert found.after == b"x = 7\ny = 0\n"
    assert tools(found) == ["put", "submit_result"]
