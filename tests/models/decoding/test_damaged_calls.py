"""Damaged answers and calls of every family: no error but BadCall, no call that is not in the text."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from time import process_time
from typing import Any

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolCall, ToolSchema
from remora.memory.encode_values import encode_value
from remora.memory.events import ModelResponse
from remora.models.client.wire_format import UnusableAnswer, decode_body, read_choice
from remora.models.decoding.call_formats import MARKS
from remora.models.decoding.call_validation import BadCall
from tests.models.decoding.written_calls import WRITE, parse_call

TOOLS = (
    ToolSchema(
        name="edit",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "line": {"type": "integer"},
                "share": {"type": "number"},
                "force": {"type": "boolean"},
                "rows": {"type": "array", "items": {"type": "string"}},
                "old": {"type": ["string", "null"]},
                "more": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        },
    ),
    ToolSchema(name="stop"),
    ToolSchema(name="undo", parameters={"properties": {"turn": {"type": "integer"}}}),
)
TEXTS = (
    "a.py", "", "def f(x):\n    return {'a': x}", 'say "hi"', "it's", "a, b}", "[1]: (2)", "é€😀",
    "C:\\new\\x41", "1.50", "true", "</parameter>", "<tool_call>", "\\d+", "stop", "7",
)  # fmt: skip
PIECES = (
    *"{}[]()\"',:=\\ \n<>|.0179eE-", "<think>", "</think>", "<|channel>", "<channel|>", "call:", "stop",
    "edit", "True", "null", "```json\n", "```", "\\u00e9", "\\x41", "\\n", '"""', "'''", "<function=stop>",
    "</function>", "<parameter=line>", "</parameter>", '{"tool":"stop","args":{}}', "[stop()]",
    '"name":"stop"', *MARKS,
)  # fmt: skip
NAMES = ("functions.{}:0", "{}<|channel|>commentary", " {}\n", "default_api.{}", "{}{}", "no {}")
WRONG: tuple[Any, ...] = (
    *(None, True, 0, 3, -1.5, 10**400, float("nan"), float("-inf"), "", " ", "x", "\ud800", "null"),
    *([], {}, [[]], [None], {"name": 3}, {"function": None}, ["a", {"b": "c"}], "[]", "{}", "NaN"),
)
BYTES = (b"\xff", b"\x00", *rb""" \ud800 NaN "name":"stop", {} ] " \ 1e999""".split())
ENDS = ("</think>", "<channel|>")
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "'": "'"}


def any_call(rng: random.Random) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {
        "path": rng.choice(TEXTS),
        "line": rng.randrange(-5, 500),
        "share": rng.choice([0.5, 1e-7, -2.25, 3]),
        "force": rng.random() < 0.5,
        "rows": rng.choices(TEXTS, k=rng.randrange(3)),
        "old": rng.choice([None, *TEXTS]),
        "more": {"name": rng.choice(TEXTS)},
    }
    names = rng.sample(list(values), rng.randrange(4))
    return rng.choice([("edit", {name: values[name] for name in names}), ("stop", {})])


def quoting_call(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A call whose strings hold marks, ends of thinking and calls of other tools."""

    def text() -> str:
        name, args = rng.choice([("stop", {}), ("undo", {"turn": rng.randrange(9)})])
        call = WRITE[rng.choice(list(WRITE))](name, args)
        return "".join(rng.choices(["a", "\n", "'", '"', *ENDS, *MARKS, call, call], k=5)) + call

    values = {"path": text(), "rows": [text(), "a"], "old": text(), "more": {"name": text()}}
    names = rng.sample(list(values), rng.randrange(1, 3))
    return "edit", {"line": 3} | {name: values[name] for name in names}


def damaged(rng: random.Random, text: str, other: str) -> str:
    for _ in range(rng.randrange(1, 5)):
        start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + rng.choice([1, 2, 8, 40]))
        part = text[start:end]
        match rng.randrange(8):
            case 0:
                text = text[:start] + text[end:]
            case 1 | 2:
                text = text[:start] + rng.choice(PIECES) + text[start:]
            case 3:
                text = text[:end] + part + text[end:]
            case 4:
                text = text[:start] + part[::-1] + text[end:]
            case 5:
                text = text[:start] if rng.random() < 0.5 else text[start:]
            case 6:
                text = text[:start] + other + text[end:]
            case _:
                text = rng.choice([other + text, text + other, f"<think>{text}</think>{other}"])
    return text


def meant(text: str) -> str:
    """The text with its escapes replaced, by rules written apart from the parser's."""

    def meaning(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        return MEANINGS.get(escape, "\\" if escape == "\\" else found[0])

    replaced = ESCAPED.sub(meaning, text)
    return replaced.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def leaves(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for key, inner in value.items():
                yield key
                yield from leaves(inner)
        case list():
            for inner in value:
                yield from leaves(inner)
        case _:
            yield value


def check_contained(raw: Any, name: str, args: dict[str, Any]) -> None:
    """Raise AssertionError unless the name and each value occur in an answer, in some spelling."""
    readings = [json.dumps(raw, ensure_ascii=False)]
    for _ in range(4):  # a text in a text in a response
        readings += [meant(readings[-1]), meant(readings[-1][1:])]
    numbers = {float(number) for reading in readings for number in NUMBER.findall(reading)}
    assert any(name in reading for reading in readings), (raw, name)
    for leaf in leaves(args):
        spellings = {leaf} if isinstance(leaf, str) else {json.dumps(leaf), repr(leaf)}
        if NUMBER.fullmatch(number := str(leaf)) and float(number) in numbers:
            continue
        assert any(s in reading for s in spellings for reading in readings), (raw, leaf)


def assert_one_line(bad: BadCall) -> None:
    assert not re.search(r"[\r\n]", bad.message)


def any_answer(rng: random.Random) -> dict[str, Any]:
    """A native call, or one in the text or in the thinking, with what servers and models do to it."""
    name, args = any_call(rng)
    key = rng.choice(["tool_calls", "tool_calls", "function_call", "content", "reasoning_content"])
    is_text = key in ("content", "reasoning_content")
    text = WRITE[rng.choice(list(WRITE))](name, args) if is_text else json.dumps(args)
    if rng.random() < 0.6:
        text = damaged(rng, text, WRITE[rng.choice(list(WRITE))](*any_call(rng)))
    call: Any = rng.choice([text, f"hm</think>{text}"])
    if not is_text:
        name = rng.choice([*NAMES, *["{}"] * 5]).replace("{}", name)
        given = rng.choice([text, text, args, json.dumps(text), f"```json\n{text}\n```", [args]])
        call = {"name": name, "arguments": given}
        call = [{"id": "1", "function": call}] if key == "tool_calls" else call
    choice = {"index": 0, "message": {"content": None, key: call}, "finish_reason": "stop"}
    return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 5}}


def put_wrong_value(rng: random.Random, document: dict[str, Any]) -> None:
    """Replace, remove, wrap or repeat a value anywhere in a document."""
    places: list[tuple[Any, Any]] = [(document, key) for key in document]
    for container, key in places:  # grows
        if isinstance(inner := container[key], (dict, list)):
            places += [
                (inner, k) for k in (inner if isinstance(inner, dict) else range(len(inner)))
            ]
    container, key = rng.choice(places)
    for _ in range(rng.choice([0, 0, 1, 40, 400])):
        container[key] = rng.choice([[container[key]], {"a": container[key]}])
    match rng.randrange(4):
        case 0:
            del container[key]
        case 1 | 2:
            container[key] = deepcopy(rng.choice(WRONG))


def damaged_body(rng: random.Random) -> bytes:
    document = any_answer(rng)
    for _ in range(rng.randrange(3)):
        put_wrong_value(rng, document)
    body = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    start, end = sorted(rng.randrange(len(body)) for _ in range(2))
    end = min(end, start + 9)
    put = rng.choice([body[start:end][::-1], *BYTES])
    return rng.choice([body, body, body, body[:start], body[:start] + put + body[end:]])


def check_answers(count: int) -> tuple[int, int, int]:
    """Read damaged answers. Return how many were calls, how many were not, and how many unusable."""
    rng = random.Random(f"answers {count}")
    calls = refused = unusable = 0
    for _ in range(count):
        try:
            answer = read_choice(decode_body(damaged_body(rng)))
        except UnusableAnswer:
            unusable += 1
            continue
        # as it comes back from a stream
        response = ModelResponse(text=answer.text, call=answer.call, raw=encode_value(answer.raw))
        try:
            found = STRATEGIES[rng.choice(["tool_call", "text"])].read(response, (), TOOLS)
        except BadCall as bad:
            refused += 1
            assert_one_line(bad)
        else:
            check_contained(answer.raw, found.tool, found.args)
            calls += 1
    return calls, refused, unusable


def called(text: str) -> ToolCall | None:
    try:
        return parse_call(text, TOOLS)
    except BadCall:
        return None


def is_call_before_thinking_ends(text: str, name: str) -> bool:
    """Return True if a call of `name` is complete before an end of thinking, so that it is one."""
    for end in re.finditer("|".join(map(re.escape, ENDS)), text):
        try:
            call: ToolCall | None = parse_call(text[: end.start()], TOOLS)
        except BadCall as bad:
            call = bad.call
        if call is not None and call.tool == name:
            return True
    return False


def is_over_before_strings(text: str, name: str) -> bool:
    """Return True if `NAME(` ends before a string, or is a whole call: what follows is no part of it."""
    ends = (call for end in re.finditer(r"\)", text) if (call := called(text[: end.end()])))
    return '"' not in text.partition(")")[0] or any(call.tool == name for call in ends)


def check_quoting(family: str, count: int) -> tuple[int, int]:
    """Parse calls that quote other calls. Return how many were made, whole and damaged."""
    rng = random.Random(f"quoting {family} {count}")
    whole = made = 0
    for _ in range(count):
        name, args = quoting_call(rng)
        text = WRITE[family](name, args)
        call = called(text)
        assert call in (None, ToolCall(tool=name, args=args)), text
        whole += call is not None
        head, bracket, rest = re.split(r"(?<=edit)(\W+)", text, maxsplit=1)
        text = head + bracket + damaged(rng, rest, "")
        call = called(text)
        made += call is not None
        if call is not None and call.tool != name:
            is_over = family == "spoken" and is_over_before_strings(text, name)
            assert is_over or is_call_before_thinking_ends(text, name), text
        elif call is not None:
            check_contained(text, call.tool, call.args)
    return whole, made


MANY = pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])


@pytest.mark.parametrize("count", [1_000, MANY])
@pytest.mark.parametrize("family", WRITE)
def test_calls_in_the_strings_of_a_call_are_not_made(family: str, count: int) -> None:
    whole, made = check_quoting(family, count)
    assert whole > 100
    assert made > 50


@pytest.mark.parametrize("count", [2_000, MANY])
def test_damaged_answers(count: int) -> None:
    assert min(check_answers(count)) > 200


@pytest.mark.parametrize("part", ["1,", "'',", "[],", "{},"])
def test_the_longest_answer_is_read_soon(part: str) -> None:
    text = f"{{'tool':'edit','args':{{'rows':[{part * (49_950 // len(part))}]}}}}"
    begin = process_time()
    called(text.replace(",]", "]"))
    assert process_time() - begin < 2.0


@pytest.mark.parametrize("family", WRITE)
def test_monstrous_answers_are_bad_calls(family: str) -> None:
    whole = WRITE[family]("edit", {"path": "x"})
    begin = whole[: whole.index("x")]
    parts = "[", "{", '{"a":', "[{'a':", "<think>", "</think>", "<tool_call>", " ", "\\", "9", '"'
    for part in parts:
        for text in (begin + part * 1_500, part * 1_500 + whole[len(begin) :]):
            with pytest.raises(BadCall) as caught:
                parse_call(text, TOOLS)
            assert len(caught.value.message) < 200
    with pytest.raises(BadCall, match="maximum 50,000"):
        parse_call(whole + "x" * 50_000, TOOLS)
    with pytest.raises(BadCall):
        parse_call('"\ud800"', TOOLS)
