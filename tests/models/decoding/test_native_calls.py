"""Native calls as servers send them, names as they spell them, and thinking that they send apart."""

import json
from typing import Any

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolSchema
from remora.memory.events import ModelResponse, ToolCalled
from remora.models.client.wire_format import read_choice
from remora.models.decoding.call_validation import BadCall
from remora.models.protocol import Strategy

KINDS: dict[str, Any] = {
    "line": "integer", "share": "number", "force": "boolean", "text": "string",
    "more": "object", "old": ["string", "integer"],
}  # fmt: skip
PUT = {name: {"type": kind} for name, kind in KINDS.items()} | {
    "rows": {"type": "array", "items": {"type": "integer"}}, "any": {},
    "sums": {"type": "object", "additionalProperties": {"type": "integer"}},
    "cells": {"anyOf": [{"type": "object", "additionalProperties": {"$ref": "#/properties/rows"}}, {"type": "null"}]},
}  # fmt: skip
FIRST = {"properties": {"first": {"type": "integer"}}, "required": ["first"]}
TOOLS = (
    ToolSchema(name="put", parameters={"properties": PUT}),
    ToolSchema(name="stop"),
    ToolSchema(name="show_lines", parameters=FIRST),
)


def read(message: dict[str, Any], strategy: Strategy = "tool_call") -> ToolCalled:
    """Read a message as the client and then the agent read it."""
    answer = read_choice({"choices": [{"message": message}]})
    response = ModelResponse(text=answer.text, call=answer.call, raw=answer.raw)
    return STRATEGIES[strategy].read(response, (), TOOLS)


def problem(message: dict[str, Any]) -> str:
    with pytest.raises(BadCall) as caught:
        read(message)
    return caught.value.message


def native(name: Any, *arguments: Any) -> dict[str, Any]:
    given = {"arguments": arguments[0]} if arguments else {}
    return {"content": None, "tool_calls": [{"function": {"name": name, **given}}]}


@pytest.mark.parametrize("given", [(), (None,), ("",), (" \n",), ("null",), ("{}",), ({},), ([],)])
def test_no_arguments(given: tuple[Any, ...]) -> None:
    assert read(native("stop", *given)).args == {}
    assert problem(native("show_lines", *given)) == "show_lines: the argument 'first' is missing"


ARGUMENTS: list[tuple[Any, dict[str, Any]]] = [
    *((given, {"line": 3}) for given in [
        {"line": 3}, [{"line": 3}], '{"line": 3}', '{"line": 3,}', "{'line': 3}", '{"line": "3"}',
        '{"line": "3.0"}', '{"line": 3.0}', '{"line": " 3 "}', '{"line": [3]}', '{"line": 3, "line": 3}',
        '{"line": 3}<|call|>', json.dumps('{"line": 3}'), json.dumps(json.dumps('{"line": 3}')), '```json\n{"line": 3}\n```',
    ]),
    ('{"text": "a\nb\tc"}', {"text": "a\nb\tc"}),
    ('{"text": "\\u00e9\\n \\d"}', {"text": "é\n \\d"}),
    ('{"rows": [1, 2,], "more": {"a": "b",},}', {"rows": [1, 2], "more": {"a": "b"}}),
    ('{"share": "0.5", "force": "true"}', {"share": 0.5, "force": True}),
    ('{"share": "2", "force": "False"}', {"share": 2, "force": False}),
    ('{"rows": "[1, 2]"}', {"rows": [1, 2]}),
    ('{"rows": ["1", "2.0"]}', {"rows": [1, 2]}),
    ('{"rows": "[\'1\', 2]"}', {"rows": [1, 2]}),
    ('{"more": "{\\"a\\": [1]}"}', {"more": {"a": [1]}}),
    ('{"sums": {"a": "3", "b": 2.0}}', {"sums": {"a": 3, "b": 2}}),
    ('{"sums": "{\\"a\\": \\"3\\"}"}', {"sums": {"a": 3}}),
    ('{"cells": {"a": ["1"], "b": "[2, 3]"}}', {"cells": {"a": [1], "b": [2, 3]}}),
    # a text stays a text where the schema takes one
    ('{"text": "3", "any": "3", "old": "3"}', {"text": "3", "any": "3", "old": "3"}),
    ('{"text": "[1]"}', {"text": "[1]"}),
    ('{"text": "null"}', {"text": "null"}),
    ('{"text": 3}', {"text": "3"}),
    # a null is no value of an argument that may be left out
    ('{"line": null, "text": null, "any": null}', {"any": None}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "args"), ARGUMENTS)
def test_arguments(given: Any, args: dict[str, Any]) -> None:
    found = read(native("put", given))
    assert json.dumps(found.args) == json.dumps(args)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ('{"line": 3, "te', "the answer ends inside a string: '\"te'"),
        ('{"line": ', "the answer ends inside a call: a value"),
        ('{"line": 3}}', "expected the end at '}'"),
        ('{}{"line": 3}', "expected the end at '{\"line\": 3}'"),
        ('{"line": 3 "text": "a"}', 'expected , at \' "text": "a"}\''),
        ('{"line": 3,, "text": "a"}', 'expected an argument\'s name at \', "text": "a"}\''),
        ('{"text": "say "hi""}', "expected , at 'hi\"\"}'"),
        ('{"text": "a \\\n b"}', "a string has the escape \\, which has two readings"),
        ('{"line": 3, "line": 4}', "line is given twice in one call, with different values"),
        ({"share": float("nan")}, "expected a value (a string needs quotes) at 'NaN}'"),
        ("line 3", "expected a value (a string needs quotes) at 'line 3'"),
        (3, "expected { at '3'"),
        ([{}, {}], "expected { at [{}, {}]"),
        ("[" * 100_000, "more than 50,000 characters"),
        ("[" * 100, "nested more than 32 levels deep"),
    ],
)
def test_unclear_arguments_are_refused_with_the_place(given: Any, reason: str) -> None:
    text = '<tool_call>{"name": "stop"}</tool_call>'  # it does not replace them
    message = problem({**native("put", given), "content": text})
    assert message.startswith("the arguments of put are not a JSON object: ")
    assert reason in message


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ('{"line": "three"}', "line must be of type integer, not 'three'"),
        ('{"line": "3.5"}', "line must be of type integer, not 3.5"),
        ('{"line": true}', "line must be of type integer, not True"),
        ('{"line": ' + "1" * 5_000 + "}", "line must be of type integer"),
        ('{"force": 1}', "force must be of type boolean, not 1"),
        ({"text": "\ud800"}, "the arguments contain an unpaired surrogate or NaN"),
    ],
)
def test_values_that_do_not_fit_are_refused(given: Any, reason: str) -> None:
    assert problem(native("put", given)).startswith(f"put: {reason}")


NAMES = [
    "show_lines<|channel|>commentary", "show_lines<|channel|>json<|message|>", "show_lines[ARGS]",
    "functions.show_lines:0", "functions.show_lines:12", "functions.show_lines", "show_lines:3",
    "default_api.show_lines", "default_api:show_lines", "tools/show_lines", "a.b.show_lines",
    " show_lines\n", "`show_lines`", '"show_lines"', "show_lines()", "<|tool_call|>show_lines",
    "show_lines:show_lines", "functions.show_lines<|channel|>json",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_read_if_one_tool_fits(name: str) -> None:
    written = json.dumps({"tool": name, "args": {"first": 3}})
    for message in (native(name, {"first": 3}), {"content": written}):
        found = read(message)
        assert (found.tool, found.args) == ("show_lines", {"first": 3})


OTHER_NAMES = [
    "", " ", None, 3, "show", "show_lines_2", "not show_lines", "show_lines or stop", "functions.nope",
    "stop.show_lines", "show_lines<|channel|>stop", "show_lines:stop", "show_lines" + " " * 200,
]  # fmt: skip


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_are_refused(name: Any) -> None:
    message = problem(native(name, {"first": 3}))
    assert message.startswith(("unknown tool", "a tool call without a name"))


CALL = '{"tool": "stop", "args": {}}'


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "function_call": {"name": "stop", "arguments": "{}"}},
        {"content": None, "reasoning_content": f"Do I stop? Yes.</think>\n{CALL}"},
        {"content": "\n", "reasoning": f"<think>{CALL}? Yes.</think>stop()"},
        {"thinking": f"hm</think>{CALL}"},
        {"content": '<tool_call>{"name": "stop"}</tool_call>'},
        {"content": "<|tool_call>call:stop{}<tool_call|>"},
        {"content": f"```json\n{CALL}\n```"},
        {"content": '{"tool": "stop"}'},
    ],
)
@pytest.mark.parametrize("strategy", ["tool_call", "string_tool_call"])
def test_a_call_of_an_older_server_one_in_the_text_and_one_after_thinking(
    strategy: Strategy, message: dict[str, Any]
) -> None:
    assert read(message, strategy).tool == "stop"


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "reasoning_content": f"Do I {CALL}? No, I still have to"},
        {"content": None, "reasoning_content": f"{CALL}</think>"},
        {"content": f"<think>{CALL}</think>"},
        {"content": f"{CALL}</think>"},
        {"content": f"[THINK]{CALL}[/THINK]"},
        {"content": "<thinking>stop()</thinking>"},
    ],
)
def test_a_call_that_is_only_thought_is_not_made(message: dict[str, Any]) -> None:
    assert "inside thinking; write " in problem(message)


SPOKEN = [
    'put(line=3, text="a")',
    "put(line='3', text='''a''',)",
    'I put it there now. put(line=3, text="a")',
    'So:\n\n```python\nput(line=3, text="a")\n```\nThat puts it there.',
    '1. `put(line=3, text="a")`',
    'default_api.put(line=3, text="a")',
    '[put(line=3, text="a")]',
    '**put(line=3, text="a")**',
    'put({"line": 3, "text": "a"})',
    'shown = put(line=3, text="a")',
    '```tool_code\nprint(default_api.put(line=3, text="a"))\n```',
    'I do not stop() here, and put(line, text) is right:\nput(line=3, text="a")  # done',
    'put(line=3, text="a")\n\nOnce more:\nput(line=3, text="a")',
    '<think>stop()</think>put(line=3, text="a")',
    'put(line=4)?\n</think>\nput(line=3, text="a")',
]


@pytest.mark.parametrize("text", SPOKEN)
def test_a_call_as_packets_show_it(text: str) -> None:
    found = read({"content": text})
    assert (found.tool, found.args) == ("put", {"line": 3, "text": "a"})


def test_arguments_without_names_are_read_if_all_are_given() -> None:
    assert read({"content": "show_lines(3)"}).args == {"first": 3}
    message = problem({"content": "put(3, 'a')"})
    assert message.startswith("put: write each argument as NAME=VALUE; it takes line, ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("For example: stop()\n\nshow_lines(first=3)", "the answer has 2 calls; write only one"),
        *((text, "the answer has no tool call") for text in [
            "`stop()` and `show_lines(first=3)` are", "I will not stop() yet.", "A tool, e.g. stop()",
            "```python\ndef f():\n    stop()\n```",
            f"You could use put(line=3, text='{CALL}') for it.",
        ]),
        ("nope()", "the answer has no tool call: 'nope()'; write {\"tool\": NAME, \"args\": {…}}"),
        ("put(text=open('a'))", "expected a value (a string needs quotes) at \"open('a'))\""),
        ("put(line=3; text='a')", "expected , at \"; text='a')\""),
        ("put(line=1 + 2)", "expected , at ' + 2)'"),
        ("put(line=3, text='a", "the answer ends inside a string: \"'a\""),
        ("put(line=3, line=4)", "line is given twice"),
    ],
)  # fmt: skip
def test_what_is_not_clearly_a_call_is_refused(text: str, reason: str) -> None:
    assert problem({"content": text}).startswith(reason)
