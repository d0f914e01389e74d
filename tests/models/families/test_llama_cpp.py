"""What a real llama.cpp server sends of each family's calls.

The weights are SmolLM2's. The server has a template with the family's marks, and a grammar forces
the model to write the call. llama.cpp refuses a grammar beside tools, so a native call has whatever
arguments the model writes.
"""

import asyncio
import gc
import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remora.chat import Message, ToolCall, ToolSchema
from remora.config.schema import ModelConfig
from remora.models.embedded import weights
from remora.models.families import family_of, parse_call
from remora.models.protocol import Answer, Decoding, Model, Request
from remora.models.provider import open_model

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
MESSAGES = (Message(role="user", content="Find a word."),)
NAME = "{{ call.function.name }}"
JSON_ARGS = "{{ call.function.arguments | tojson }}"


def each_argument(pair: str, between: str = "") -> str:
    """Return a template of all arguments, each written as `pair`."""
    last = f"{{% if not loop.last %}}{between}{{% endif %}}"
    loop = "{% for key, value in call.function.arguments.items() %}"
    return f"{loop}{pair}{last}{{% endfor %}}"


def braces(quote: str) -> str:
    """Return a template of a call with the arguments in braces."""
    text = f"{quote}{{{{ value }}}}{quote}"
    value = f"{{% if value is string %}}{text}{{% else %}}{{{{ value }}}}{{% endif %}}"
    pairs = each_argument("{{ key }}:" + value, ",")
    return f"call:{NAME}{{{{ '{{' }}}}{pairs}{{{{ '}}' }}}}"


class Written(NamedTuple):
    """How a family writes a call: the template's part, and the call itself."""

    template: str
    text: str
    mark: str | None


WRITTEN = {
    "functiongemma": Written(
        f"<start_function_call>{braces('<escape>')}<end_function_call>",
        "<start_function_call>call:find{k:<escape>x y<escape>,n:3}<end_function_call>",
        "functiongemma",
    ),
    "gemma": Written(
        "<|tool_call>" + braces('<|"|>') + "<tool_call|>",
        '<|tool_call>call:find{k:<|"|>x y<|"|>,n:3}<tool_call|>',
        "gemma",
    ),
    "lfm": Written(
        f"<|tool_call_start|>[{NAME}({each_argument('{{ key }}={{ value | tojson }}', ', ')})]"
        "<|tool_call_end|>",
        '<|tool_call_start|>[find(k="x y", n=3)]<|tool_call_end|>',
        "lfm",
    ),
    "hermes": Written(
        f'<tool_call>\n{{"name": "{NAME}", "arguments": {JSON_ARGS}}}\n</tool_call>',
        '<tool_call>\n{"name": "find", "arguments": {"k": "x y", "n": 3}}\n</tool_call>',
        "hermes",
    ),
    "qwen_coder": Written(
        f"<tool_call>\n<function={NAME}>\n"
        + each_argument("<parameter={{ key }}>\n{{ value }}\n</parameter>\n")
        + "</function>\n</tool_call>",
        "<tool_call>\n<function=find>\n<parameter=k>\nx y\n</parameter>\n"
        "<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>",
        "qwen_coder",
    ),
    "bare_json": Written(
        f'{{"name": "{NAME}", "arguments": {JSON_ARGS}}}',
        '{"name": "find", "arguments": {"k": "x y", "n": 3}}',
        None,
    ),
}
FAST = "functiongemma"
FAMILIES = [pytest.param(name, marks=() if name == FAST else pytest.mark.slow) for name in WRITTEN]


@contextmanager
def served(cache: Path, written: Written) -> Iterator[Model]:
    """Open a model whose template shows tools, and calls as the family writes them."""
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
        "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}"
        "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
        f"{calls}<|im_end|>\n{{% endfor %}}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    server: Any = xllamacpp.Server(params)
    settings = ModelConfig(base_url=server.listening_address, retries=0)
    try:
        yield open_model(settings, cache=cache, api_key=None)
    finally:
        del server
        gc.collect()


def ask(model: Model, decoding: Decoding) -> Answer:
    async def once() -> Answer:
        try:
            return await model.ask(Request(messages=MESSAGES, decoding=decoding))
        finally:
            await model.aclose()

    return asyncio.run(once())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_that_the_server_sends_as_text_is_parsed(weights_cache: Path, family: str) -> None:
    written = WRITTEN[family]
    grammar = f"root ::= {json.dumps(written.text)}"
    with served(weights_cache, written) as model:
        assert model.capabilities.tools, "the template shows tools"
        answer = ask(model, Decoding(strategy="grammar", grammar=grammar, max_tokens=100))
    assert (answer.text, answer.call) == (written.text, None)
    assert family_of(answer.text) == written.mark
    assert parse_call(answer.text, [FIND]) == CALL


@pytest.mark.slow
@pytest.mark.parametrize("family", ["functiongemma", "gemma"])
def test_the_server_parses_what_its_template_shows(weights_cache: Path, family: str) -> None:
    with served(weights_cache, WRITTEN[family]) as model:
        answer = ask(model, Decoding(strategy="tool_call", tools=(FIND,), max_tokens=40))
    assert answer.parser_miss is None
    assert answer.call is not None or "find(" in answer.text, "the arguments may be cut"
