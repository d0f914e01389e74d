"""The client against a server that misbehaves; `test_embedded` and `test_provider` use real ones."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import pytest

from remora.chat import Answer, Message, ToolCall, Usage
from remora.errors import ContextTooLarge, ModelError
from remora.models.client.openai_client import OpenAIClient
from remora.models.client.retry_policy import RequestLimits
from remora.models.client.server_address import parse_address
from remora.models.client.server_probe import ServerFacts
from remora.models.client.sync_http import ServerConnection
from remora.models.client.wire_format import answering_model
from remora.models.protocol import Capabilities, Decoding, Request
from remora.models.token_counters import MARGIN, TokenRatio, UpperBound, UsageCounter

CHAT = "/v1/chat/completions"
KEY = "sk-very-secret"
REQUEST = Request(
    messages=(Message(role="user", content="go"),),
    decoding=Decoding(strategy="grammar", grammar='root ::= "x"', max_tokens=10),
)
QUICK = RequestLimits(timeout_s=5, retries=4, backoff_s=0.001)
_Told = TypeVar("_Told")


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


def client_for(
    address: str,
    *,
    limits: RequestLimits = QUICK,
    context: int | None = None,
    known: TokenRatio | None = None,
) -> OpenAIClient:
    connection = ServerConnection(parse_address(address), key=KEY, limits=limits)
    facts = ServerFacts(name="m", capabilities=Capabilities(), context=context, llama=False)
    return OpenAIClient(connection, facts, UsageCounter(known), limits=limits, exact=False)


def talk(address: str, use: Callable[[OpenAIClient], Awaitable[_Told]], **options: Any) -> _Told:
    """Use a client in an event loop of its own, and close it."""

    async def run() -> _Told:
        client = client_for(address, **options)
        try:
            return await use(client)
        finally:
            await client.aclose()

    return asyncio.run(run())


def ask(address: str, *, request: Request = REQUEST, **options: Any) -> Answer:
    return talk(address, lambda client: client.ask(request), **options)


def ask_often(address: str, times: int, request: Request = REQUEST) -> list[Answer]:
    """Ask one client again and again."""

    async def use(client: OpenAIClient) -> list[Answer]:
        return [await client.ask(request) for _ in range(times)]

    return talk(address, use)


def failure(address: str, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(address, **options)
    assert KEY not in f"{caught.value.message} {caught.value.hint} {caught.value!r}"
    return caught.value


def test_the_key_is_sent_and_the_answer_read(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=says("hello"))
    assert ask(misbehaving.address).text == "hello"
    assert misbehaving.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 0])
def test_temporary_errors_are_retried(misbehaving: Any, canned: Any, status: int) -> None:
    busy = canned(status=status, body={"error": "busy"})
    misbehaving.routes[CHAT] = [busy, busy, canned(body=says("x"))]
    assert ask(misbehaving.address).text == "x"
    assert len(misbehaving.seen) == 3
    misbehaving.routes[CHAT] = busy
    failure(misbehaving.address, limits=RequestLimits(retries=2, backoff_s=0.001))
    assert len(misbehaving.seen) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_permanent_errors_are_not_retried(misbehaving: Any, canned: Any, status: int) -> None:
    body = {"error": {"message": f"no: {KEY} is wrong"}}
    misbehaving.routes[CHAT] = canned(status=status, body=body)
    error = failure(misbehaving.address)
    assert f"returned status {status}: no: … is wrong" in error.message
    asked = [one.body.get("stream_options") for one in misbehaving.seen]
    assert asked == [{"include_usage": True}, *([None] * 2 if status in (400, 422) else [])]


def test_a_refused_key_says_where_keys_come_from(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(status=401)
    assert "REMORA_API_KEY" in failure(misbehaving.address).hint


def test_retry_after_is_waited_for(
    misbehaving: Any, canned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    busy = canned(status=429, headers={"Retry-After": "7"})
    misbehaving.routes[CHAT] = [busy, canned(body=says("x"))]
    assert ask(misbehaving.address).text == "x"
    assert max(pauses) >= 7.0


def test_a_server_that_does_not_answer_in_time_is_not_asked_again(
    misbehaving: Any, canned: Any
) -> None:
    misbehaving.routes[CHAT] = canned(body=says("late"), delay_s=1.0)
    error = failure(misbehaving.address, limits=RequestLimits(timeout_s=0.04, backoff_s=0.001))
    assert "did not respond within 0.2 s" in error.message
    assert "model.timeout_s" in error.hint
    assert len(misbehaving.seen) == 1


def test_no_server_at_the_address() -> None:
    error = failure("http://127.0.0.1:1/v1")
    assert error.message.startswith("cannot reach the model server at http://127.0.0.1:1/v1: ")
    assert "model.base_url" in error.hint
    assert error.exit_code == 3


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>", b"[]", b"\xff\xfe", pytest.param(b"[" * 100_000, id="deep")),
        *({}, {"choices": []}, {"choices": ["x"]}, {"choices": {}}),
    ],
)
def test_an_answer_that_is_none_is_a_model_error(misbehaving: Any, canned: Any, body: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=body)
    assert "sent an unusable response" in failure(misbehaving.address).message


@pytest.mark.slow
def test_an_endless_answer_is_cut_off(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=b" " * (17 * 1024 * 1024))
    assert "more than" in failure(misbehaving.address).message


def test_a_request_that_cannot_fit_is_not_sent(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=says("x"))
    known = TokenRatio(0.2, 0.4)
    counted = UsageCounter(known).count_messages(REQUEST.messages or ())
    assert ask(misbehaving.address, context=counted + 10, known=known).text == "x"
    error = failure(misbehaving.address, context=counted + 9, known=known)
    assert isinstance(error, ContextTooLarge)
    assert f"{counted} tokens" in error.message
    assert len(misbehaving.seen) == 1


def test_bytes_are_no_reason_not_to_ask(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=says("x"))
    assert ask(misbehaving.address, context=12).text == "x"


def test_answers_calibrate_the_counter(misbehaving: Any, canned: Any) -> None:
    size = UpperBound().count_messages(REQUEST.messages or ())
    usages = [size // 4, size // 2, size // 3, 1, 10**9]
    misbehaving.routes[CHAT] = [
        canned(body={**says("x"), "usage": {"prompt_tokens": tokens}}) for tokens in usages
    ]

    rates = list[tuple[str, float]]()

    async def calibrate(client: OpenAIClient) -> None:
        for _ in usages:
            await client.ask(REQUEST)
            rates.append((client.counter.basis, client.counter.rate))

    talk(misbehaving.address, calibrate)
    first, *others = rates
    assert first == ("usage", round(size // 4 / size * MARGIN, 3))
    assert set(others) == {("usage", round(size // 2 / size * MARGIN, 3))}, "lies are not learned"


def test_a_lone_surrogate_reaches_the_server_and_no_encoder(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=says("x"))
    odd = Request(messages=(Message(role="user", content="\ud800"),), decoding=REQUEST.decoding)
    assert ask(misbehaving.address, request=odd).text == "x"


def test_no_more_requests_at_a_time_than_allowed(misbehaving: Any, canned: Any) -> None:
    misbehaving.routes[CHAT] = canned(body=says("x"), delay_s=0.15)

    async def ask_four(client: OpenAIClient) -> float:
        start = time.monotonic()
        await asyncio.gather(*(client.ask(REQUEST) for _ in range(4)))
        return time.monotonic() - start

    assert talk(misbehaving.address, ask_four, limits=RequestLimits(max_concurrency=2)) >= 0.3


def test_another_model_than_before_is_an_error(misbehaving: Any, canned: Any) -> None:
    names = ("m-2026", "m-2026", "other")
    misbehaving.routes[CHAT] = [canned(body={**says("x"), "model": name}) for name in names]

    with pytest.raises(ModelError, match="model 'other', and answered with 'm-2026' before"):
        ask_often(misbehaving.address, 3)
    assert len(misbehaving.seen) == 3


def event(**part: Any) -> bytes:
    return b"data: " + json.dumps(part).encode() + b"\r\n\r\n"


def tokens(*deltas: dict[str, Any]) -> list[bytes]:
    """The events of a streamed answer, with a comment before it and its counts at the end."""
    parts = [event(model="m", choices=[{"index": 0, "delta": delta}]) for delta in deltas]
    end = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    counts = event(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 2})
    return [b": ready\n\n", *parts, end, counts, b"data: [DONE]\n\n"]


WORDS = tokens({"role": "assistant", "content": "hel"}, {"content": "lo"})


class TestStreamedAnswers:
    @pytest.mark.parametrize("size", [1, 7, 10_000])
    def test_events_are_joined_however_they_are_cut(
        self, misbehaving: Any, canned: Any, size: int
    ) -> None:
        whole = b"".join(WORDS)
        parts = tuple(whole[at : at + size] for at in range(0, len(whole), size))
        misbehaving.routes[CHAT] = canned(parts=parts)
        answer = ask(misbehaving.address)
        assert (answer.text, answer.finish_reason, answering_model(answer.raw)) == (
            "hello",
            "stop",
            "m",
        )
        assert answer.usage == Usage(prompt_tokens=9, completion_tokens=2)
        assert answer.raw["choices"][0]["message"] == {"role": "assistant", "content": "hello"}

    def test_the_arguments_of_a_call_are_joined(self, misbehaving: Any, canned: Any) -> None:
        first = {"index": 0, "id": "c1", "function": {"name": "act", "arguments": '{"a'}}
        more = {"index": 0, "function": {"arguments": '":1}'}}
        parts = tuple(tokens({"tool_calls": [first]}, {"tool_calls": [more]}))
        misbehaving.routes[CHAT] = canned(parts=parts)
        assert ask(misbehaving.address).call == ToolCall(tool="act", args={"a": 1})

    def test_a_slow_answer_is_read_while_tokens_come(self, misbehaving: Any, canned: Any) -> None:
        parts = tuple(tokens(*[{"content": "x"}] * 20))
        misbehaving.routes[CHAT] = canned(parts=parts, delay_s=0.05)
        limits = RequestLimits(timeout_s=0.2, backoff_s=0.001)  # 1 s to the first, then 0.1 s
        assert ask(misbehaving.address, limits=limits).text == "x" * 20

    def test_silence_in_the_middle_ends_it(self, misbehaving: Any, canned: Any) -> None:
        misbehaving.routes[CHAT] = canned(parts=tuple(WORDS), delay_s=0.3)
        limits = RequestLimits(timeout_s=0.2, backoff_s=0.001)
        error = failure(misbehaving.address, limits=limits)
        assert "did not respond within 0.1 s" in error.message
        assert len(misbehaving.seen) == 1

    def test_an_answer_that_breaks_off_is_asked_for_again(
        self, misbehaving: Any, canned: Any
    ) -> None:
        misbehaving.routes[CHAT] = [canned(parts=tuple(WORDS[:2])), canned(parts=tuple(WORDS))]
        assert ask(misbehaving.address).text == "hello"
        assert len(misbehaving.seen) == 2

    def test_an_error_in_the_middle_has_its_status(self, misbehaving: Any, canned: Any) -> None:
        error = event(error={"code": 404, "message": "the model is gone"})
        misbehaving.routes[CHAT] = canned(parts=(*WORDS[:2], error))
        assert "status 404: the model is gone" in failure(misbehaving.address).message

    @pytest.mark.parametrize(
        ("logprobs", "refusals", "asked"),
        [
            (0, 1, [["stream_options"], [], []]),
            (5, 1, [["stream_options", "logprobs"], ["logprobs"], ["logprobs"]]),
            (5, 2, [["stream_options", "logprobs"], ["logprobs"], *[["stream_options"]] * 2]),
        ],
    )
    def test_a_server_is_asked_without_what_it_refuses(
        self, misbehaving: Any, canned: Any, logprobs: int, refusals: int, asked: list[list[str]]
    ) -> None:
        refused = canned(status=400, body={"error": "unknown key"})
        misbehaving.routes[CHAT] = [*[refused] * refusals, canned(body=says("whole"))]
        decoding = msgspec.structs.replace(REQUEST.decoding, logprobs=logprobs)
        request = msgspec.structs.replace(REQUEST, decoding=decoding)
        assert {given.text for given in ask_often(misbehaving.address, 2, request)} == {"whole"}
        options = ("stream_options", "logprobs")
        sent = [[name for name in options if name in seen.body] for seen in misbehaving.seen]
        assert sent == asked
        assert all(seen.body["stream"] for seen in misbehaving.seen)
