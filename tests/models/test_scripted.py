import asyncio

import pytest

from remora.chat import Message, ToolCall
from remora.errors import ModelError
from remora.models.protocol import Decoding, Model, Request
from tests.scripted_model import ScriptedModel

REQUEST = Request(
    messages=(Message(role="user", content="go"),),
    decoding=Decoding(strategy="grammar"),
)


def test_answers_come_in_order_and_requests_are_kept() -> None:
    call = ToolCall(tool="stop")
    model = ScriptedModel(["text", call])
    usable: Model = model  # it is a Model, says the type checker too
    answers = [asyncio.run(usable.ask(REQUEST)) for _ in range(2)]
    assert [a.text for a in answers] == ["text", ""]
    assert answers[1].call == call
    assert model.requests == [REQUEST] * 2


def test_a_function_of_the_request_may_answer() -> None:
    model = ScriptedModel(lambda request: request.decoding.strategy)
    assert asyncio.run(model.ask(REQUEST)).text == "grammar"


def test_scripted_usage_is_what_was_counted() -> None:
    model = ScriptedModel(["x"])
    answer = asyncio.run(model.ask(REQUEST))
    counted = model.counter.count_messages(REQUEST.messages or ())
    assert answer.usage.prompt_tokens == counted


def test_the_end_of_the_script_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="0 answers, but this is request 1"):
        asyncio.run(ScriptedModel([]).ask(REQUEST))


def test_an_error_in_the_script_is_raised() -> None:
    with pytest.raises(ModelError, match="gone"):
        asyncio.run(ScriptedModel([ModelError("gone")]).ask(REQUEST))
