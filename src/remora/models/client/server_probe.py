"""Probing of a server to find its models, context size and capabilities."""

from collections.abc import Sequence
from typing import Any

from remora.errors import ModelError
from remora.models.client.openai_client import ServerFacts
from remora.models.client.server_address import Address
from remora.models.client.sync_http import ServerConnection
from remora.models.client.wire_format import UnusableAnswer, completion_body, read_choice
from remora.models.protocol import Capabilities, Decoding, Request, TokenCounter
from remora.models.token_counters import PostJson, ServerTokenizer, UpperBound

_ABSENT = (404, 405, 501)
_UNLIKELY = "zq"
"""An answer that no model gives without the grammar that allows nothing else."""
_MAX_NAME_CHARS = 200


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
    capabilities = Capabilities(completions=has_completions)
    if isinstance(settings, dict):
        context = _positive_int(settings.get("n_ctx")) or context
        capabilities = Capabilities(
            grammar=_follows_grammar(connection, chosen),
            completions=has_completions,
            tokenize=_can_tokenize(connection),
        )
    return ServerFacts(
        name=chosen,
        capabilities=capabilities,
        context=context,
        llama=isinstance(settings, dict),
        listed=_names(listed),
    )


def difference(facts: ServerFacts, other: ServerFacts) -> str:
    """Return why `other` cannot answer for a server with `facts`, or an empty string if it can."""
    if other.name != facts.name:
        return f"has the model {other.name}, not {facts.name}"
    if lacks_model(facts, other.listed):
        return f"has the model {other.listed[0]}, not {facts.name}"
    if (other.capabilities, other.llama) != (facts.capabilities, facts.llama):
        return "supports other ways of asking"
    if (other.context or 0) < (facts.context or 0):
        return f"has a context of {other.context or 'unknown size'}, not {facts.context}"
    return ""


def lacks_model(facts: ServerFacts, listed: Sequence[str]) -> bool:
    """Return True if a server lists models, but not the one that the server with `facts` lists."""
    return facts.name in facts.listed and bool(listed) and facts.name not in listed


def listed_models(connection: ServerConnection) -> tuple[str, ...]:
    """Ask the server for the names of its models. Raises ModelError if it cannot be reached."""
    return _names(_models(connection.request_once("GET", f"{connection.address.api}/models")))


def token_counter_for(facts: ServerFacts, post: PostJson) -> TokenCounter:
    """Return a counter that uses the server's tokenizer, or an upper bound if there is none."""
    return ServerTokenizer(facts.name, post) if facts.capabilities.tokenize else UpperBound()


def _names(listed: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(model["id"]) for model in listed)


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
    names = _names(listed)
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


def _can_tokenize(connection: ServerConnection) -> bool:
    root = connection.address.root
    tokens = connection.request_once("POST", f"{root}/tokenize", {"content": "A"})
    body = {"messages": [{"role": "user", "content": "A"}]}
    prompt = connection.request_once("POST", f"{root}/apply-template", body)
    has_tokens = isinstance(tokens, dict) and isinstance(tokens.get("tokens"), list)
    return has_tokens and isinstance(prompt, dict) and isinstance(prompt.get("prompt"), str)


def _positive_int(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
