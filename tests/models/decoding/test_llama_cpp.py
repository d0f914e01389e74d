"""What a real llama.cpp server sends of each family's calls."""

import asyncio
import gc
import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import Answer, Message, ToolCall, ToolSchema
from remora.config.schema import ModelConfig
from remora.memory.events import ModelResponse
from remora.models.embedded import weights
from remora.models.protocol import Decoding, Model, Request, Strategy
from remora.models.provider import open_model
from tests.models.decoding.written_calls import parse_call

FIND = ToolSchema(
    name="find",
    description="Find a word.",
    parameters={
        "type": "object",
        "properties": {"k": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["k", "n"],
    },
)
CALL = ToolCall(tool="find", args={"k": "x y", "n": 3})
ASK = Message(role="user", content="Find a word.")
NAME = "{{ call.function.name }}"
JSON_ARGS = "{{ call.function.arguments | tojson }}"
JSON_TOOLS = "{{ tools | tojson }}"


def each_argument(pair: str, between: str = "") -> str:
    """Return a template of all arguments, each written as `pair`."""
    last = f"{{% if not loop.last %}}{between}{{% endif %}}"
    loop = "{% for key, value in call.function.arguments.items() %}"
    return f"{loop}{pair}{last}{{% endfor %}}"


def braces(start: str, quote: str) -> str:
    """Return a template of a call with the arguments in braces."""
    text = f"{quote}{{{{ value }}}}{quote}"
    value = f"{{% if value is string %}}{text}{{% else %}}{{{{ value }}}}{{% endif %}}"
    pairs = each_argument("{{ key }}:" + value, ",")
    return f"{{{{ '{start}call:' + call.function.name + '{{' }}}}{pairs}{{{{ '}}' }}}}"


class Written(NamedTuple):
    """How a family writes tools, calls and turns: the template's parts, and the call itself."""

    tools: str
    template: str
    text: str
    turn: tuple[str, str, str] = ("<|im_start|>", "assistant", "<|im_end|>")


FUNCTIONGEMMA = Written(
    "{% for tool in tools %}<start_function_declaration>declaration:{{ tool.function.name }}"
    "<end_function_declaration>{% endfor %}",
    braces("<start_function_call>", "<escape>") + "<end_function_call>",
    "<start_function_call>call:find{k:<escape>x y<escape>,n:3}<end_function_call>",
    ("<start_of_turn>", "model", "<end_of_turn>"),
)
WRITTEN = {
    "functiongemma": FUNCTIONGEMMA,
    "gemma": Written(
        "{% for tool in tools %}<|tool>declaration:{{ tool.function.name }}<tool|>{% endfor %}",
        braces("<|tool_call>", '<|"|>') + "<tool_call|>",
        '<|tool_call>call:find{k:<|"|>x y<|"|>,n:3}<tool_call|>',
        ("<|turn>", "model", "<turn|>"),
    ),
    "lfm": Written(
        f"List of tools: <|tool_list_start|>{JSON_TOOLS}<|tool_list_end|>",
        f"<|tool_call_start|>[{NAME}({each_argument('{{ key }}={{ value | tojson }}', ', ')})]"
        "<|tool_call_end|>",
        '<|tool_call_start|>[find(k="x y", n=3)]<|tool_call_end|>',
    ),
    "hermes": Written(
        f"<tools>{JSON_TOOLS}</tools>",
        f'<tool_call>\n{{"name": "{NAME}", "arguments": {JSON_ARGS}}}\n</tool_call>',
        '<tool_call>\n{"name": "find", "arguments": {"k": "x y", "n": 3}}\n</tool_call>',
    ),
    "qwen_coder": Written(
        f"<tools>{JSON_TOOLS}</tools>",
        f"<tool_call>\n<function={NAME}>\n"
        + each_argument("<parameter={{ key }}>\n{{ value }}\n</parameter>\n")
        + "</function>\n</tool_call>",
        "<tool_call>\n<function=find>\n<parameter=k>\nx y\n</parameter>\n"
        "<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>",
    ),
    "bare_json": Written(
        f"Tools: {JSON_TOOLS}",
        f'{{"name": "{NAME}", "arguments": {JSON_ARGS}}}',
        '{"name": "find", "arguments": {"k": "x y", "n": 3}}',
    ),
}
FAMILIES = [pytest.param(name, marks=pytest.mark.slow) for name in WRITTEN]


@contextmanager
def served(cache: Path, written: Written) -> Iterator[Model]:
    """Open a model whose template shows tools, and calls as the family writes them."""
    begin, model, end = written.turn
    calls = f"{{% for call in message.tool_calls or [] %}}{written.template}{{% endfor %}}"
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.weights_path(cache))
    params.model_alias = {"m"}
    params.port = 0
    params.n_ctx = 1024
    params.n_parallel = 1
    params.fit_params = False
    params.ui = False
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 2
    params.verbosity = 0
    params.chat_template = (
        f"{{% if tools %}}{written.tools}\n{{% endif %}}{{% for message in messages %}}{begin}"
        f"{{{{ '{model}' if message.role == 'assistant' else message.role }}}}\n"
        f"{{{{ message.content or '' }}}}{calls}{end}\n{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{begin}{model}\n{{% endif %}}"
    )
    server: Any = xllamacpp.Server(params)
    settings = ModelConfig(base_url=server.listening_address, retries=0)
    try:
        yield open_model(settings, cache=cache, api_key=None)
    finally:
        del server
        gc.collect()


def ask(model: Model, decoding: Decoding, shown: str = "") -> Answer:
    """Ask once, after a chat that shows a call three times."""
    example = (ASK, Message(role="assistant", content=shown))
    messages = (*(example * 3 if shown else ()), ASK)

    async def once() -> Answer:
        try:
            return await model.ask(Request(messages=messages, decoding=decoding))
        finally:
            await model.aclose()

    return asyncio.run(once())


def parsed(answer: Answer, strategy: Strategy) -> ToolCall:
    response = ModelResponse(text=answer.text, call=answer.call, raw=answer.raw)
    found = STRATEGIES[strategy].read(response, (), [FIND])
    return ToolCall(tool=found.tool, args=found.args)


@pytest.mark.process
@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_that_the_server_sends_as_text_is_parsed(weights_cache: Path, family: str) -> None:
    written = WRITTEN[family]
    grammar = f"root ::= {json.dumps(written.text)}"
    with served(weights_cache, written) as model:
        assert model.capabilities.tools, "the template shows tools"
        answer = ask(model, Decoding(strategy="grammar", grammar=grammar, max_tokens=100))
    assert (answer.text, answer.call) == (written.text, None)
    assert parse_call(answer.text, [FIND]) == CALL


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gemma", "lfm", "hermes", "qwen_coder", "bare_json"])
def test_the_server_parses_a_native_call(weights_cache: Path, family: str) -> None:
    written = WRITTEN[family]
    with served(weights_cache, written) as model:
        answer = ask(
            model, Decoding(strategy="tool_call", tools=(FIND,), max_tokens=80), written.text
        )
    assert answer.call == CALL


@pytest.mark.slow
def test_a_call_in_the_marks_of_another_family_is_left_in_the_text(weights_cache: Path) -> None:
    with served(weights_cache, WRITTEN["hermes"]) as model:
        decoding = Decoding(strategy="string_tool_call", tools=(FIND,), max_tokens=40)
        answer = ask(model, decoding, FUNCTIONGEMMA.text)
    assert parsed(answer, "string_tool_call") == CALL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "strategy"),
    [
        # the derived parser does not know `<escape>`
        (FUNCTIONGEMMA, "string_tool_call"),
        # without LFM2's marks around the tools, as in LFM2.5-8B-A1B, the derived grammar is invalid
        (WRITTEN["lfm"]._replace(tools=f"List of tools: {JSON_TOOLS}"), "tool_call"),
    ],
    ids=["functiongemma", "lfm"],
)
def test_a_call_that_the_server_cannot_parse_is_asked_for_as_text(
    weights_cache: Path, written: Written, strategy: Strategy
) -> None:
    with served(weights_cache, written) as model:
        answer = ask(model, Decoding(strategy=strategy, tools=(FIND,), max_tokens=40), written.text)
    assert answer.call is None
    assert parsed(answer, strategy) == CALL
