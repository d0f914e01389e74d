"""What small models do to a call, by name and family, and what is too unclear to be made."""

from typing import Any

import pytest

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_validation import BadCall
from tests.models.decoding.written_calls import WRITE, parse_call

TOOLS = (
    ToolSchema(
        name="put",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["add", "cut"]},
            },
        },
    ),
    ToolSchema(name="stop"),
)
CALL = ToolCall(tool="put", args={"path": "a b.py", "line": 3})
ARGS = '{"path":"a b.py","line":3}'
JSON_CALL = f'{{"tool":"put","args":{ARGS}}}'
STOP = "{'tool':'stop','args':{}}"
HERMES, CODER = "<tool_call>{}</tool_call>", "<tool_call><function=put>{}</function></tool_call>"


def named(arguments: str) -> str:
    return f'{{"name":"put","arguments":{arguments}}}'


@pytest.mark.parametrize("family", WRITE)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        " \n{}\n ",
        "I will put it there: {}",
        "{}\nThat puts it there.",
        "<think>Put or stop?</think>{}",
        "Put or stop?</think>\n\n{}",
        "<think>\nPut?\n</think>\n{}<think>Done?</think>",
        "<|channel>thought\nPut?<channel|>{}",
    ],
)
def test_words_spaces_and_thinking_around_a_call(family: str, around: str) -> None:
    text = around.replace("{}", WRITE[family](CALL.tool, CALL.args))
    assert parse_call(text, TOOLS) == CALL


@pytest.mark.parametrize("family", WRITE)
@pytest.mark.parametrize(
    "args",
    [{"path": "a b.py", "line": "3"}, {"path": ["a b.py"], "line": 3}, {**CALL.args, "line": [3]}],
)
def test_numbers_as_strings_and_one_value_in_a_list(family: str, args: dict[str, Any]) -> None:
    if family == "qwen_coder" and list in map(type, args.values()):
        return  # its values have no quotes: a list is a text
    assert parse_call(WRITE[family]("put", args), TOOLS) == CALL


FORGIVEN = {
    "functiongemma: no end mark": "<start_function_call>call:put{path:<escape>a b.py<escape>,line:3}",
    "functiongemma: spaces": "<start_function_call> call : put { path: <escape>a b.py<escape>, line: 3 }",
    "functiongemma: round brackets": "<start_function_call>call:put(path:<escape>a b.py<escape>,line:3)",
    "functiongemma: quotes": "<start_function_call>call:put{path:'a b.py',\"line\":3}<end_function_call>",
    "functiongemma: doubled name": "<start_function_call>call:put{put{path:'a b.py',line:3}}",
    "gemma: no end mark": '<|tool_call>call:put{path:<|"|>a b.py<|"|>,line:3}',
    "gemma: two end marks": '<|tool_call>call:put{path:<|"|>a b.py<|"|>,line:3}<tool_call|><tool_call|>',
    "gemma: round brackets": '<|tool_call>call:put(path=<|"|>a b.py<|"|>, line=3)<tool_call|>',
    "gemma: quotes": '<|tool_call>call:put{path:"a b.py",line:3}<tool_call|>',
    "gemma: doubled name": '<|tool_call>call:put:put{path:<|"|>a b.py<|"|>,line:3}<tool_call|>',
    "lfm: no end mark": "<|tool_call_start|>[put(path='a b.py', line=3)]",
    "lfm: no brackets": "<|tool_call_start|>put(path='a b.py', line=3)<|tool_call_end|>",
    "lfm: braces": "<|tool_call_start|>[put{path:'a b.py', line:3}]<|tool_call_end|>",
    "lfm: doubled name": "<|tool_call_start|>[put.put(path='a b.py', line=3)]<|tool_call_end|>",
    "hermes: no end mark": '<tool_call>{"name":"put","arguments":{"path":"a b.py","line":3}}',
    "hermes: single quotes": HERMES.format("{'name':'put','arguments':{'path':'a b.py','line':3}}"),
    "hermes: arguments in a list": HERMES.format(named(f"[{ARGS}]")),
    "hermes: doubled name": HERMES.format(named(named(ARGS))),
    "qwen_coder: no outer marks": (
        "<function=put><parameter=path>a b.py</parameter><parameter=line>3</parameter></function>"
    ),
    "qwen_coder: no end marks": (
        "<tool_call><function=put><parameter=path>a b.py</parameter><parameter=line>3</parameter>"
    ),
    "qwen_coder: no end of the last argument": CODER.format(
        "<parameter=path>a b.py</parameter><parameter=line>3\n"
    ),
    "json: our form": JSON_CALL,
    "json: a list": '[{"name":"put","parameters":{"path":"a b.py","line":3}}, {"name":"stop"}]',
    "json: in a block": f"So:\n```json\n{JSON_CALL}\n```\nDone.",
    "json: OpenAI's form": (
        '[{"id":"1","type":"function","function":'
        '{"name":"put","arguments":"{\\"path\\": \\"a b.py\\", \\"line\\": 3}"}}]'
    ),
    "json: doubled name": named(f'{{"put":{ARGS}}}'),
    "json: the same argument twice": '{"tool":"put","args":{"path":"a b.py","line":3,"line":3}}',
    "a plan before the call": "{\"plan\": [1]} <|tool_call_start|>[put(path='a b.py', line=3)]",
    "a list of plans before the call": '[{"plan": "x"}] ' + HERMES.format(JSON_CALL),
    "a plan before our form": '{"plan": "x"}\n' + JSON_CALL,
    "a plan in thinking": f'<think>{{"plan": x}}</think>{HERMES.format(JSON_CALL)}',
    "first of two JSON calls": f"{JSON_CALL}\n{STOP}",
    "first of two calls": "<|tool_call_start|>[put(path='a b.py', line=3), stop()]<|tool_call_end|>",
    "a dict in words before the call": 'Here is {"a": x}. <tool_call>' + JSON_CALL,
    "a set in words before the call": 'The set {"a", "b"} is [{"c"}]. <tool_call>' + JSON_CALL,
    "code before the call": '```python\nx = {\n    "a": [y, {"b": z}],\n}\n```\n' + JSON_CALL,
    "a mark in words before the call": "I use `<tool_call>` marks. <tool_call>" + JSON_CALL,
    "both marks in words": "Between <tool_call> and </tool_call>: <tool_call>" + JSON_CALL,
    "a mark of another family in words": "No <|tool_call_start|> then. <tool_call>" + JSON_CALL,
    "a mark in thinking": "Do I write <tool_call> here?</think><tool_call>" + JSON_CALL,
    "hermes: as packets show it": "<tool_call>\nput(path='a b.py', line=3)\n</tool_call>",
    "call of a tool without arguments after thinking": JSON_CALL + '{"tool":"stop"}',
    "end of thinking in a further call": (
        JSON_CALL + "<tool_call>{'tool':'put','args':{'path':'</think> {\"tool\":\"stop\"}'}}"
    ),
    "end of thinking in a further call of a list": (
        "<|tool_call_start|>[put(path='a b.py', line=3), "
        'put(path=\'</think> {"tool":"stop","args":{}}\')]<|tool_call_end|>'
    ),
    "end of thinking in a further call that ends early": (
        "<|tool_call_start|>[put(path='a b.py', line=3), "
        'put(path=\'</think> {"tool":"stop","args":{}}'
    ),
    "call after a call in thinking that began before": f"{STOP}? No.\n</think>\n{JSON_CALL}",
    "call after a thought call": f"<think>{STOP}</think>{JSON_CALL}",
}


@pytest.mark.parametrize("text", FORGIVEN.values(), ids=list(FORGIVEN))
def test_what_is_forgiven(text: str) -> None:
    assert parse_call(text, TOOLS) == CALL


REFUSED = [
    ("", "the answer is empty"),
    ("I would stop.", "the answer has no tool call: 'I would stop.'; write {\"tool\": NAME"),
    ('```json\n{"put": 3}\n```', "the answer has no tool call"),
    ('<think><tool_call>{"name":"stop","arguments":{}}</tool_call></think>', "the only call is inside"),
    ('<think>Should I {"tool":"stop","args":{}}', "the answer ends inside thinking"),
    (JSON_CALL + " I am done with </think> now.", "the only call is inside thinking"),
    ("<start_function_call>call:put{line:1,line:2}", "line is given twice in one call, with diff"),
    ('<tool_call>{"name":"put","arguments":{"line":1,"line":2}}', "line is given twice in one call"),
    (CODER.format("<parameter=line>1</parameter><parameter=line>2</parameter>"), "line is given twice"),
    (CODER.format("<parameter=path>a</parameter>b</parameter>"), "it is not clear where an argument"),
    (CODER.format("<parameter=path>a<parameter=line>3</parameter>"), "it is not clear where an argum"),
    ("<tool_call><function=put><parameter=path>a", "the answer ends inside an argument: 'a'"),
    ("<|tool_call>call:put{line:3}path:4}<tool_call|>", "expected <tool_call|> at 'path:4}"),
    ("<|tool_call>call:put{line:3,", "the answer ends inside a call: an argument's name"),
    ("<|tool_call_start|>[put('a.py')]", "put: write each argument as NAME=VALUE; it takes path, li"),
    ("<|tool_call_start|>[put(path='a' 'b')]", "expected , at"),
    ("<|tool_call_start|>[put(path=f'a')]", "expected a value (a string needs quotes)"),
    ("<|tool_call_start|>[put(line=1_0)]", "expected a value"),
    ("<|tool_call_start|>[put(path=open('x'))]", "expected a value"),
    ("<|tool_call_start|>[put(path='\\012')]", "a string has the escape \\0, which has two readings"),
    ('{"tool":"put","args":{"path":"<tool_call>{}</tool_call>', "the answer ends inside a string"),
    (
        "<|tool_call_start|>[put(\"doc: </think> {'tool':'stop','args':{}}\")]<|tool_call_end|>",
        "put: write each argument",
    ),
    ('{"tool":"put","args":{"path":"a "b} </think> {\'tool\':\'stop\',\'args\':{}}"}}', "expected , at"),
    ("<tool_call>put: <tool_call>" + STOP, "expected { at "),
    ('{"plan": "I write "<tool_call>' + STOP + '</tool_call>""}', "expected , at"),
    ("<tool_call>{'put':'name'}</tool_call> </think>" + STOP, "not a call"),
    ('{"tool":"stop","args":{},"arguments":{}}', "not a call"),
    ('{"name":"put"} "arguments": <tool_call>' + STOP, "not a call"),
    (CODER.format("<parameter=path>a</function>b</parameter>"), "it is not clear where an argument"),
    (
        CODER.format("<parameter=path>a</parameter></function>b</parameter>"),
        "it is not clear where the call of 'put' ends",
    ),
    ('{"tool":"stop","tool":"put","args":{}}', "tool is given twice in one call"),
    ('{"name":"stop"}', 'not a call {"tool": NAME'),
    ('{"tool":"stop","args":{},"why":"x"}', 'not a call {"tool": NAME'),
    ('{"tool":"stop","args":[1]}', "expected { at '1'"),
    ('{"tool":"stop","args":{"x":1}}', "stop: no argument 'x'; it takes none"),
    ('{"tool":"put","args":{"x":1}}', "put: no argument 'x'; it takes path, line, mode"),
    ('{"tool":"put","args":{"line":0}}', "put: line is 0, against minimum: 1"),
    ('{"tool":"put","args":{"mode":"x"}}', "put: mode must be one of 'add', 'cut', not 'x'"),
    ('{"tool":"go","args":{}}', "unknown tool 'go'; the tools are put, stop"),
    ('{"tool":"put","args":{"line":"three"}}', "put: line must be of type integer, not 'three'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_unclear_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadCall) as caught:
        parse_call(text, TOOLS)
    assert caught.value.message.startswith(reason)
