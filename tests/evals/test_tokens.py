"""Tokens without a model server: the recorded counter where it can be had, else an estimate."""

import pytest

from remora.chat import Message, ToolSchema
from remora.evals.tokens import TokenRates
from remora.memory.events import AgentStart, ModelRequest
from remora.memory.packet import DecisionPacket
from remora.models.token_counters import UpperBound

MESSAGES = (Message(role="system", content="é" * 20), Message(role="user", content="x" * 60))


def start(counter: str) -> AgentStart:
    return AgentStart(packet=DecisionPacket(), counter=counter)


def request(tokens: int, **more: object) -> ModelRequest:
    messages = [{"role": m.role, "content": m.content} for m in MESSAGES]
    return ModelRequest(prompt_tokens=tokens, **{"messages": messages, **more})  # type: ignore[arg-type]


def test_the_upper_bound_needs_no_server() -> None:
    counter = TokenRates().counter(start("upper-bound/1"))
    assert isinstance(counter, UpperBound)


def test_a_tokenizer_is_estimated_from_what_it_counted() -> None:
    known = TokenRates()
    known.add_request("tokenizer/a", request(20))
    known.add_request("tokenizer/a", request(15, messages=None, prompt="y" * 40))
    known.add_request("tokenizer/b", request(999))
    counter = known.counter(start("tokenizer/a"))
    assert counter.basis == "usage"
    assert (
        counter.name == "estimate of tokenizer/a: 0.250 per byte, 35 tokens in 140 recorded bytes"
    )
    assert counter.count_messages(MESSAGES) == 25
    assert counter.count_text("z" * 5) == 2


def test_tools_that_were_declared_natively_count() -> None:
    tools = (ToolSchema(name="t", description="d" * 60),)
    known = TokenRates()
    known.add_request("a", request(50, decoding={"tools": [{"name": "t", "description": "d" * 60,
                                                    "parameters": {}}]}))  # fmt: skip
    assert known.counter(start("a")).count_messages(MESSAGES, tools) == 50


@pytest.mark.parametrize("counter", ["tokenizer/a", ""])
def test_without_any_recorded_request_it_is_a_guess_and_says_so(counter: str) -> None:
    made = TokenRates().counter(start(counter))
    assert made.count_text("x" * 9) == 5
    assert made.name.endswith("0.500 per byte, a guess")
