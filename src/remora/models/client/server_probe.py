"""Probing of a server to find its models, context size, capabilities and version."""

import json
from contextlib import closing, suppress
from typing import Any

import msgspec

from remora.chat import Message, ToolSchema
from remora.errors import ModelError
from remora.models.client.retry_policy import RequestLimits
from remora.models.client.server_address import Address, parse_address
from remora.models.client.sync_http import ServerConnection
from remora.models.client.wire_format import (
    UnusableAnswer,
    chat_body,
    completion_body,
    read_choice,
    read_usage,
)
from remora.models.decoding.grammar import tool_call_schema
from remora.models.protocol import Capabilities, Decoding, Request, Strategy
from remora.models.token_counters import tool_declaration

_ABSENT = (404, 405, 501)
_REFUSED = (400, 422, *_ABSENT)
_UNLIKELY = "zq"
"""An answer that no model gives without the grammar that allows nothing else."""
PROBE_TOOL = ToolSchema(name=_UNLIKELY, description="A tool.")
"""The tool that no agent has. Requests with it only test what the server can do."""
_MESSAGES = (Message(role="user", content="Answer with a short word."),)
_UNCACHED = 8
"""Tokens that `_MESSAGES` have at least. A server that reports fewer counts without its cache."""
_MAX_NAME_CHARS = 200
_DISCOVERY_S = 0.3
_USUAL_PORTS = {8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The result of probing a server."""

    name: str
    capabilities: Capabilities
    context: int | None
    llama: bool
    """True if the server has llama.cpp's additional endpoints."""


def probe_server(connection: ServerConnection, *, name: str | None) -> ServerFacts:
    """Return the server's model and capabilities.

    Raises ModelError if the server cannot be reached. Each capability is tested with a request.
    Names and versions are not trusted.
    """
    address = connection.address
    found = connection.request_once("GET", f"{address.api}/models")
    listed = _models(found)
    chosen = name or _only_model(listed, address, found)
    context = _served_context(next((m for m in listed if m["id"] == chosen), {}))
    has_completions = _has_completions(connection)
    props = (
        None if address.root is None else connection.request_once("GET", f"{address.root}/props")
    )
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    llama = isinstance(settings, dict)
    if isinstance(settings, dict):
        context = _positive_int(settings.get("n_ctx")) or context
    tools, json_schema, thinks = _can_chat(connection, chosen, llama=llama)
    capabilities = Capabilities(
        grammar=llama and _follows_grammar(connection, chosen),
        completions=has_completions,
        tokenize=_can_tokenize(connection, chosen, llama=llama),
        tools=tools,
        json_schema=json_schema,
        thinks=thinks,
    )
    return ServerFacts(name=chosen, capabilities=capabilities, context=context, llama=llama)


def find_local_servers() -> list[tuple[str, str]]:
    """Return the model servers found on common local ports: whose port it is, and the address."""
    found = []
    for port, server in _USUAL_PORTS.items():
        address = parse_address(f"http://127.0.0.1:{port}/v1")
        limits = RequestLimits(timeout_s=_DISCOVERY_S)
        with closing(ServerConnection(address, key=None, limits=limits)) as connection:
            try:
                answer = connection.request_once("GET", f"{address.api}/models")
            except ModelError:
                continue
        if isinstance(answer, dict) and isinstance(answer.get("data"), list):
            found.append((server, address.api))
    return found


def _models(found: Any) -> list[dict[str, Any]]:
    listed = found.get("data") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        return []
    return [m for m in listed if isinstance(m, dict) and _is_name(m.get("id"))]


def _is_name(value: Any) -> bool:
    """Return True if `value` is a model name that is safe to record and display.

    Servers are not trusted to return valid names.
    """
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME_CHARS and value.isprintable()


def _only_model(listed: list[dict[str, Any]], address: Address, found: Any) -> str:
    names = [str(model["id"]) for model in listed]
    if len(names) == 1:
        return names[0]
    status = f" (/models returned status {found})" if isinstance(found, int) else ""
    has = f"it has {', '.join(sorted(names)[:10])}" if names else f"it lists no models{status}"
    variable = f"REMORA_{address.section.upper()}__NAME"
    raise ModelError(
        f"the server at {address.shown} requires a model name: {has}",
        hint=f"set {address.section}.name in your configuration, or {variable} for one command",
    )


def _served_context(model: dict[str, Any]) -> int | None:
    meta = model.get("meta")
    served = _positive_int(meta.get("n_ctx")) if isinstance(meta, dict) else None
    return served or _positive_int(model.get("max_model_len"))


def _has_completions(connection: ServerConnection) -> bool:
    # an empty request is cheap: a server that has the endpoint rejects the body
    found = connection.request_once("POST", f"{connection.address.api}/completions", {})
    return found not in _ABSENT


def _follows_grammar(connection: ServerConnection, model: str) -> bool:
    decoding = Decoding(strategy="grammar", grammar=f'root ::= "{_UNLIKELY}"', max_tokens=4)
    body = completion_body(Request(prompt="A", decoding=decoding), model=model, llama=True)
    found = connection.request_once("POST", f"{connection.address.api}/completions", body)
    try:
        return isinstance(found, dict) and read_choice(found).text == _UNLIKELY
    except UnusableAnswer:
        return False


def _can_chat(connection: ServerConnection, model: str, *, llama: bool) -> tuple[bool, bool, bool]:
    """Return True if the server shows tools to the model, if that follows schemas, and if it thinks.

    Some templates ignore tools. llama.cpp shows the prompt that its template makes. Other servers
    then report as many prompt tokens with a tool as without. A server that is too slow or too busy
    to say is taken to have tools.
    """
    tool = Decoding(strategy="tool_call", tools=(PROBE_TOOL,), max_tokens=1)
    with_tool = None if llama else _chat(connection, model, tool)
    if not llama and with_tool is None:
        return True, False, False
    schema = json.dumps(tool_call_schema(tool.tools))
    # it need not write more than the name of the tool
    form = Decoding(strategy="json_schema", grammar=schema, max_tokens=16, stop=(_UNLIKELY,))
    answer = _chat(connection, model, form)
    text, thinks = "", False
    with suppress(UnusableAnswer):
        if isinstance(answer, dict):
            read = read_choice(answer)
            text, thinks = read.text, bool(read.thinking)
    follows_schema = "".join(text.split()).startswith('{"tool":"')
    if llama:
        return _shows_tools(connection), follows_schema, thinks
    sizes = [_prompt_tokens(with_tool), _prompt_tokens(answer)]
    is_ignored = sizes[0] == sizes[1] >= _UNCACHED
    return with_tool not in _REFUSED and not is_ignored, follows_schema, thinks


def _chat(connection: ServerConnection, model: str, decoding: Decoding) -> Any:
    """Return the response or the status, or None if the server does not respond in time."""
    body = chat_body(Request(messages=_MESSAGES, decoding=decoding), model=model, llama=False)
    try:
        return connection.request_once("POST", f"{connection.address.api}/chat/completions", body)
    except ModelError:
        return None


def probe_request(able: Capabilities) -> Request:
    """Return a short question in the form in which jobs ask a model that is `able`."""
    strategy: Strategy = "tool_call" if able.tools else "text"
    tools = (PROBE_TOOL,) if able.tools else ()
    decoding = Decoding(strategy=strategy, tools=tools, max_tokens=16, seed=0)
    return Request(messages=_MESSAGES, decoding=decoding)


def _prompt_tokens(answer: Any) -> int:
    return (isinstance(answer, dict) and read_usage(answer).prompt_tokens) or 0


def _shows_tools(connection: ServerConnection) -> bool:
    chat = {"messages": msgspec.to_builtins(_MESSAGES)}
    tools = {"tools": [tool_declaration(PROBE_TOOL)]}
    url = f"{connection.address.root}/apply-template"
    plain, shown = (connection.request_once("POST", url, chat | more) for more in ({}, tools))
    return isinstance(shown, dict) and shown != plain


def _can_tokenize(connection: ServerConnection, model: str, *, llama: bool) -> bool:
    """Return True if the server counts a chat by the endpoints of llama.cpp or of vLLM."""
    if (root := connection.address.root) is None:
        return False
    chat = {"messages": [{"role": "user", "content": "A"}]}
    if not llama:
        counted = connection.request_once("POST", f"{root}/tokenize", {"model": model, **chat})
        return isinstance(counted, dict) and _positive_int(counted.get("count")) is not None
    tokens = connection.request_once("POST", f"{root}/tokenize", {"content": "A"})
    prompt = connection.request_once("POST", f"{root}/apply-template", chat)
    has_tokens = isinstance(tokens, dict) and isinstance(tokens.get("tokens"), list)
    return has_tokens and isinstance(prompt, dict) and isinstance(prompt.get("prompt"), str)


def _positive_int(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
