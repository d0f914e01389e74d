"""Conversion of requests and answers to and from the JSON bodies sent over HTTP."""

import json
from typing import Any

import msgspec

from remora.chat import Answer, ToolCall, Usage, answer_form
from remora.models.decoding.call_formats import MARKS
from remora.models.decoding.call_parsing import split_thinking
from remora.models.decoding.call_validation import BadCall
from remora.models.decoding.native_calls import THINKING, native_item, read_native_call
from remora.models.protocol import Decoding, Request
from remora.models.token_counters import tool_declaration

_MAX_WORD_CHARS = 200
_MAX_TOKENS = 2**53


class UnusableAnswer(Exception):
    """Raised if a response body violates the protocol. The client converts it to ModelError."""


def chat_body(request: Request, *, model: str, llama: bool) -> dict[str, Any]:
    """Return a `/v1/chat/completions` request body for any strategy but `completion`."""
    decoding = request.decoding
    body = _sampling(decoding, model=model, llama=llama)
    body["messages"] = msgspec.to_builtins(list(request.messages or ()))
    if decoding.logprobs:
        body |= {"logprobs": True, "top_logprobs": decoding.logprobs}
    form = answer_form(decoding.strategy)
    if form.declares_tools:
        body["tools"] = [tool_declaration(tool) for tool in decoding.tools]
        body["tool_choice"] = form.tool_choice
    return body


def completion_body(request: Request, *, model: str, llama: bool) -> dict[str, Any]:
    """Return the body of a `/v1/completions` request for a complete prompt.

    The request may include a grammar.
    """
    decoding = request.decoding
    body = _sampling(decoding, model=model, llama=llama)
    body["prompt"] = request.prompt
    if answer_form(decoding.strategy).shows_control_tokens:
        # by default, servers remove special tokens, but they delimit a call
        body |= {"preserved_tokens": list(MARKS)} if llama else {"skip_special_tokens": False}
    return body


def read_choice(body: dict[str, Any]) -> Answer:
    """Return the first choice of a chat or plain completion.

    Raises UnusableAnswer if the response contains no choices.
    """
    match body.get("choices"):
        case [dict(choice), *_]:
            pass
        case _:
            raise UnusableAnswer("no choices in the response")
    message = _dict(choice.get("message"))
    text, thinking = _joined(message.get("content", choice.get("text")))
    thinking += max(len(_text(message.get(key)) or "") for key in THINKING)
    try:
        written = read_native_call(body)
    except BadCall:  # the text of an answer is what the model wrote
        written, text = None, text or json.dumps(native_item(body))
    return Answer(
        text=text,
        thinking=thinking,
        call=written and ToolCall(tool=written.name, args=written.args),
        usage=read_usage(body),
        finish_reason=_word(choice.get("finish_reason")),
        raw=body,
    )


def answering_model(body: dict[str, Any]) -> str:
    """Return the name of the model that answered, or an empty string if the server does not say."""
    return _word(body.get("model")) or ""


def decode_body(body: bytes) -> dict[str, Any]:
    """Decode a response body. Raises UnusableAnswer if it is not a JSON object."""
    try:
        value = json.loads(body)
        value = _recordable(value) if b"\\ud" in body.lower() else value
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer("not JSON") from error
    if not isinstance(value, dict):
        raise UnusableAnswer("not a JSON object")
    return value


def _recordable(value: Any) -> Any:
    """Escape lone surrogates, because streams are encoded in UTF-8 and cannot contain them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_recordable(item) for item in value]
    if isinstance(value, dict):
        return {_recordable(key): _recordable(item) for key, item in value.items()}
    return value


def read_usage(body: dict[str, Any]) -> Usage:
    """Read the token counts. Missing counts are None."""
    usage = _dict(body.get("usage"))
    timings = _dict(body.get("timings"))
    prompt = _count(usage.get("prompt_tokens"))
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    evaluated = _count(timings.get("prompt_n"))
    if evaluated is None and prompt is not None and cached is not None and cached <= prompt:
        evaluated = prompt - cached
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_count(usage.get("completion_tokens")),
        evaluated=evaluated,
    )


def _sampling(decoding: Decoding, *, model: str, llama: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": decoding.max_tokens,
        "temperature": decoding.temperature,
    }
    if decoding.seed is not None:
        body["seed"] = decoding.seed
    if decoding.strategy == "json_schema":
        schema = {"name": "call", "strict": True, "schema": json.loads(decoding.grammar or "{}")}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif decoding.grammar is not None:
        body["grammar"] = decoding.grammar
    if decoding.stop:
        body["stop"] = list(decoding.stop)
    if llama:
        # other servers reject or ignore unknown keys
        body["cache_prompt"] = decoding.cache_prompt
    return body


def _joined(content: Any) -> tuple[str, int]:
    """Return a content's text, which may come in parts, and the characters of its thinking."""
    if not isinstance(content, list):
        return split_thinking(_text(content) or "")
    parts = [_dict(part) for part in content]
    thinking = sum(len(str(part["thinking"])) for part in parts if "thinking" in part)
    return "".join(_text(part.get("text")) or "" for part in parts), thinking


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    return value[:_MAX_WORD_CHARS] if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MAX_TOKENS else None
