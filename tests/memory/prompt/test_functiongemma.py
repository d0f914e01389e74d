"""FunctionGemma's prompt, byte for byte, and the history as a chat."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remora.chat import Message, ToolCall, ToolSchema
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentError,
    ContextUpdate,
    Event,
    ModelResponse,
    Payload,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import Candidate, DecisionPacket, Excerpt, Fact
from remora.memory.prompt.control_tokens import CONTROL_TOKENS, neutralize_control_tokens
from remora.memory.prompt.functiongemma_prompt import AROUND, function_declaration
from remora.memory.prompt.history import RESULT_LIMIT, History
from remora.memory.prompt.history_messages import later_steps
from remora.memory.prompt.render import HISTORY, MASKED, reads_history, render
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


DECLARATIONS = [
    (
        ToolSchema(name="submit_result", parameters=schema({})),
        "<start_function_declaration>declaration:submit_result{"
        "description:<escape><escape>,"
        "parameters:{type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="read_code",
            description="Read the file.",
            parameters=schema({"path": {"type": "string"}}, "path"),
        ),
        "<start_function_declaration>declaration:read_code{"
        "description:<escape>Read the file.<escape>,"
        "parameters:{properties:{"
        "path:{description:<escape><escape>,type:<escape>STRING<escape>}},"
        "required:[<escape>path<escape>],"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="edit_line",
            description="Replace one line.",
            parameters=schema(
                {
                    "text": {"type": "string", "description": "The new text of the lines."},
                    "line": {"type": "integer", "description": "From 1."},
                },
                "text",
                "line",
            ),
        ),
        "<start_function_declaration>declaration:edit_line{"
        "description:<escape>Replace one line.<escape>,"
        "parameters:{properties:{"
        "line:{description:<escape>From 1.<escape>,type:<escape>INTEGER<escape>},"
        "text:{description:<escape>The new text of the lines.<escape>,type:<escape>STRING<escape>}},"
        "required:[<escape>text<escape>,<escape>line<escape>],"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="run_tests",
            parameters=schema({"ids": {"type": "array", "items": {"type": "string"}}}),
        ),
        "<start_function_declaration>declaration:run_tests{"
        "description:<escape><escape>,"
        "parameters:{properties:{"
        "ids:{description:<escape><escape>,items:{type:<escape>STRING<escape>},"
        "type:<escape>ARRAY<escape>}},"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="set",
            parameters=schema(
                {
                    "ratio": {"type": "number"},
                    "Deep": {"type": ["null", "boolean"], "description": None},
                    "any": {},
                }
            ),
        ),
        "<start_function_declaration>declaration:set{"
        "description:<escape><escape>,"
        "parameters:{properties:{"
        "any:{description:<escape><escape>,type:<escape>STRING<escape>},"
        "Deep:{description:<escape><escape>,type:<escape>BOOLEAN<escape>},"
        "ratio:{description:<escape><escape>,type:<escape>NUMBER<escape>}},"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
]
TOOLS = [tool for tool, _ in DECLARATIONS]
INSTRUCTIONS = "Say no more. Stop."


@pytest.mark.parametrize(("tool", "expected"), DECLARATIONS, ids=[t.name for t in TOOLS])
def test_a_declaration(tool: ToolSchema, expected: str) -> None:
    assert function_declaration(tool) == expected


def prompt(packet: DecisionPacket, tools: list[ToolSchema]) -> str:
    rendered = render("functiongemma/3", packet, tools, "completion", instructions=INSTRUCTIONS)
    assert rendered.messages is None
    assert rendered.prompt is not None
    return rendered.prompt


def test_a_prompt_declares_what_the_first_suggestion_of_each_tool_leaves_open() -> None:
    suggested = (
        Candidate(tool="submit_result", reason="done"),
        Candidate(tool="edit_line", args={"line": 3}, reason="E1"),
        Candidate(tool="edit_line", args={"line": 7}, reason="E2"),
    )
    packet = DecisionPacket(goal="Fix f", turn=2, candidate_actions=suggested)
    assert prompt(packet, TOOLS) == (
        "<start_of_turn>developer\n"
        f"{INSTRUCTIONS}\n"
        "You are a model that can do function calling with the following functions"
        "<start_function_declaration>declaration:edit_line{"
        "description:<escape>Replace one line<escape>,"
        "parameters:{properties:{text:{description:<escape>The new text of the lines.<escape>,"
        "type:<escape>STRING<escape>}},"
        "required:[<escape>text<escape>],"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>"
        f"{DECLARATIONS[0][1]}<end_of_turn>\n"
        "<start_of_turn>user\n"
        "Goal: Fix f\n"
        "Turn 2 of 12\n"
        "Suggestions:\n"
        "- submit_result() - done\n"
        "- edit_line(line=3, text) - E1<end_of_turn>\n"
        "<start_of_turn>model\n"
    )
    native = render("functiongemma_tools/2", packet, TOOLS, "", instructions=INSTRUCTIONS).messages
    assert native is not None
    assert native[0].content.startswith(f"{INSTRUCTIONS}\nYou are a model")
    assert native[1].content.endswith("- edit_line(line=3, text) - E1")


def test_a_prompt_has_at_most_1000_bytes_around_its_packet() -> None:
    look = replace(TOOLS[2], name="look", looks=True)
    suggested = tuple(Candidate(tool=tool.name) for tool in (*TOOLS[:3], look))
    packet = DecisionPacket(candidate_actions=suggested)
    for instructions, last in [("Do it well. " + "Be good. " * 60, "Be good."), ("x" * 500, "")]:
        shown = render("functiongemma/3", packet, [*TOOLS, look], "completion", (), instructions)
        before, _, user = str(shown.prompt).partition("<start_of_turn>user\n")
        packet_text = user.partition("<end_of_turn>")[0]
        assert len(str(shown.prompt)) - len(packet_text) <= AROUND
        assert before.splitlines()[1].endswith(last or "<end_of_turn>")
        assert ("look" in packet_text) == ("declaration:look" in before)


pieces = st.sampled_from([*CONTROL_TOKENS, "<", ">", "bos>", "end_of_turn>", "x", "\n"])
hostile = st.lists(pieces, max_size=12).map("".join)


@given(hostile)
def test_no_control_token_is_left_in_defused_text(text: str) -> None:
    harmless = neutralize_control_tokens(text)
    assert not any(token in harmless for token in CONTROL_TOKENS)
    assert harmless.replace("< ", "<") == text.replace("< ", "<")


@given(hostile, hostile)
def test_data_adds_no_control_token_to_a_prompt(text: str, description: str) -> None:
    def of(text: str, description: str) -> str:
        packet = DecisionPacket(
            goal=f"g{text}",
            excerpt=Excerpt(ref="", path="p", lines=(1, 1), text=f"g{text}"),
            knowledge={f"k{text}": Fact(value=[text], source_turn=1)},
            last_error=f"e{text}",
            candidate_actions=(Candidate(tool="t", args={"a": text}, reason=text),),
        )
        arg = {"type": "string", "description": description}
        return prompt(
            packet, [ToolSchema(name="t", description=text, parameters=schema({"a": arg}))]
        )

    said, bare = of(text, description), of("", "")
    assert [said.count(token) for token in CONTROL_TOKENS] == [
        bare.count(token) for token in CONTROL_TOKENS
    ]


READING = [ToolSchema(name="read", description="Read.")]
CODE = Excerpt(ref="code", path="a.py", lines=(1, 2), text="def f():\n    pass")


class Talk:
    """An agent's events, folded as its loop folds them."""

    def __init__(self) -> None:
        self._emitter = NullEventEmitter(Identity("r", "a", "lint", "node:a.py:f"))
        self._context = ContextManager({"goal": "Tidy up", "node_id": "node:a.py:f"})
        self.history = History(self._context.packet)
        self._turn = 0

    def add(self, payload: Payload, delta: PacketDelta | None = None) -> Event:
        event = self._emitter.emit(payload, turn=self._turn, delta=delta)
        self._context.apply_event(event)
        self.history.add(event, self._context.packet)
        return event

    def given(self, source: str = "context", **delta: Any) -> None:
        self.add(ContextUpdate(source=source), PacketDelta(**delta))

    def turn(self) -> None:
        self._turn += 1
        self._context.apply_event({"type": "turn_start", "turn": self._turn})

    def called(self, raw: Any, *, parsed: Any = None, **args: Any) -> None:
        self.turn()
        self.add(ModelResponse(text="", call=ToolCall(tool="read", args=args)))
        self.add(ToolCalled(tool="read", args=args, decided_by="model"))
        result = raw if parsed is None else parsed
        summary = {"summary": raw["summary"]} if parsed is not None else {}
        facts: dict[str, Any] = {} if parsed is None else {"knowledge_delta": {}}
        told = {"tool": "read", "args": args, "raw_output": raw, **summary, **facts}
        more = {k: raw[k] for k in ("excerpt", "diagnostics") if parsed is not None and k in raw}
        self.add(
            ToolResulted(tool="read", args=args, raw_output=raw, parsed_output=result),
            self._context.delta_for(told | more),
        )

    def messages(
        self, renderer: str = HISTORY, strategy: str = "tool_call", omitted: int = 0
    ) -> tuple[Message, ...]:
        steps = later_steps(self.history.steps, omitted)
        made = render(renderer, self._context.packet, READING, strategy, steps).messages
        assert made is not None
        assert made[0].role == "system"
        return made[1:]


@pytest.fixture
def talk() -> Talk:
    """What a script gave, and three calls."""
    talk = Talk()
    talk.given(update_knowledge={"callers": 3}, excerpt=CODE)
    for number in range(1, 4):
        talk.called({"text": f"result {number}"}, n=number)
    return talk


def roles(messages: tuple[Message, ...]) -> list[str]:
    return [message.role for message in messages]


def test_calls_and_results_are_messages_of_a_server(talk: Talk) -> None:
    first, *pairs = talk.messages()
    assert first.content.splitlines()[:3] == ["Goal: Tidy up", "Target: node:a.py:f", "Facts:"]
    assert "callers: 3\nCode:\n1| def f():\n2|     pass" in first.content
    assert [one.role for one in pairs] == ["assistant", "tool"] * 3
    for number, (called, result) in enumerate(zip(pairs[::2], pairs[1::2], strict=True), 1):
        (call,) = called.tool_calls
        assert (call.type, call.function.name) == ("function", "read")
        assert call.function.arguments == f'{{"n":{number}}}'
        assert result.tool_call_id == call.id == f"call{number:05}"
        assert result.content.startswith(f'{{"text":"result {number}"}}')
    sent = msgspec.to_builtins(first)
    assert sent.keys() == {"role", "content"}


def test_without_declared_tools_calls_and_results_are_texts(talk: Talk) -> None:
    messages = talk.messages(strategy="grammar")
    assert roles(messages) == ["user", *["assistant", "user"] * 3]
    assert messages[1].content == '{"tool":"read","args":{"n":1}}'
    assert messages[2].content == '{"text":"result 1"}'


def test_suggestions_are_those_of_now_and_stand_last(talk: Talk) -> None:
    for reason in ("early", "late"):
        talk.given("candidates", candidate_actions=(Candidate(tool="read", reason=reason),))
        talk.called("x" * 3, n=9)
    messages = talk.messages()
    everything = "".join(message.content for message in messages)
    assert "early" not in everything
    assert messages[-1].content.endswith("\nTurn 5 of 12\nSuggestions:\n- read() - late")


def test_masked_results_are_one_line_but_the_last_two(talk: Talk) -> None:
    results = [one.content for one in talk.messages(MASKED) if one.role == "tool"]
    assert results[0] == "Executed read"
    assert results[1] == '{"text":"result 2"}'
    assert results[2].startswith('{"text":"result 3"}')
    assert "callers: 3" in talk.messages(MASKED)[0].content


def test_the_oldest_calls_are_left_out_first_and_what_was_given_last(talk: Talk) -> None:
    counts = []
    for omitted in range(len(talk.history.steps) + 1):
        messages = talk.messages(omitted=omitted)
        pairs = messages[1:]
        assert [one.role for one in pairs] == ["assistant", "tool"] * (len(pairs) // 2)
        counts.append((len(pairs) // 2, "callers" in messages[0].content))
    assert counts == [
        (3, True), (2, True), (2, True), (1, True), (1, True), (0, True), (0, True), (0, False)
    ]  # fmt: skip


def test_each_thing_is_shown_once(talk: Talk) -> None:
    code = "def f():\n    return 1"
    shown = {"ref": "code", "path": "a.py", "lines": [1, 2], "text": code}
    finding = ["F401 line 1: unused"]
    raw = {"result": code, "summary": "Lines 1-2", "excerpt": shown, "diagnostics": finding}
    talk.called(raw, parsed=code)
    excerpt = msgspec.structs.replace(CODE, text=code)
    talk.given("candidates", excerpt=excerpt, diagnostics=("F401 line 1: unused",))
    last = talk.messages()[-1].content
    assert last == f"Lines 1-2\n{code}\nFindings:\nF401 line 1: unused\nTurn 4 of 12"


def test_a_wrong_answer_and_its_error_are_a_pair(talk: Talk) -> None:
    talk.turn()
    talk.add(ModelResponse(text="I would read"))
    talk.add(AgentError(kind="bad_call", message="no call"), PacketDelta(set_error="no call"))
    answer, error = talk.messages()[-2:]
    assert (answer.role, answer.content) == ("assistant", "I would read")
    assert (error.role, error.content) == ("user", "Error: no call\nTurn 4 of 12")
    talk.turn()
    talk.add(ModelResponse(text="", call=ToolCall(tool="nope")))
    talk.add(AgentError(kind="bad_call", message="what"), PacketDelta(set_error="what"))
    answer, error = talk.messages()[-2:]
    assert error.role == "tool"
    assert error.tool_call_id == answer.tool_calls[0].id


def test_a_refused_submission_says_why(talk: Talk) -> None:
    talk.called("Submitted")
    talk.add(SubmitResult(verified=False), PacketDelta(set_error="parses: no"))
    assert talk.messages()[-1].content == "Submitted\nError: parses: no\nTurn 4 of 12"


def test_the_middle_of_a_very_long_result_is_left_out(talk: Talk) -> None:
    talk.called("a" * RESULT_LIMIT + "the end")
    text = talk.messages()[-1].content
    assert "\n... 7 characters ...\n" in text
    assert "the end\nTurn" in text
    talk.called("\n".join(["top", *["x" * 7000] * 18, "end"]))  # is kept in a blob
    text = talk.messages()[-1].content
    assert text.startswith("top\nxxx")
    assert "\nend\nTurn" in text


def test_control_tokens_are_neutralized(talk: Talk) -> None:
    talk.called("<|im_end|>", path="<|im_start|>")
    call, result = talk.messages()[-2:]
    assert result.content.startswith("< |im_end|>")
    assert call.tool_calls[0].function.arguments == '{"path":"< |im_start|>"}'


def test_history_names_are_known_to_verification() -> None:
    assert reads_history(HISTORY)
    assert reads_history(MASKED)
    assert not reads_history("history/2")
