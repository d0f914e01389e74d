"""Which model is opened, what a server is found to be, and what counts tokens."""

import asyncio
import json
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import Message, ToolCall, ToolSchema
from remora.config.schema import ModelConfig
from remora.errors import ConfigError, ModelError
from remora.models.client.server_probe import find_local_servers
from remora.models.embedded import weights
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS
from remora.models.embedded.server_process import RunningServer, ServerOptions, ServerProcess
from remora.models.protocol import Capabilities, Decoding, Model, NoModel, Request
from remora.models.provider import check_model, embedded_model, open_model
from remora.models.token_counters import (
    PER_MESSAGE,
    ServerTokenizer,
    TokenRatio,
    UpperBound,
    UsageCounter,
)
from tests.scripted_model import ScriptedModel

MESSAGES = (Message(role="user", content="A or B?"),)
LETTER = Decoding(strategy="grammar", grammar='root ::= "A" | "B"', max_tokens=1, seed=1)
KEYS = [
    "provider",
    "base_url",
    "name",
    "reachable",
    "context",
    "counter",
    "capabilities",
    "weights",
]


@pytest.fixture(scope="module")
def llama(weights_cache: Path) -> Iterator[RunningServer]:
    """A real llama.cpp server, as a user might have one at an address."""
    options = ServerOptions(
        weights=weights.weights_path(weights_cache),
        name="my-model",
        context=1024,
        slots=1,
        threads=2,
        cache_mib=0,
    )
    process = ServerProcess(options)
    yield process.ensure_running()
    process.close()


def configured(base_url: str | None, **more: Any) -> ModelConfig:
    return ModelConfig(base_url=base_url, **{"retries": 0, "timeout_s": 20, **more})


def test_a_real_server_is_asked_what_it_is(llama: RunningServer, tmp_path: Path) -> None:
    model = open_model(configured(llama.address), cache=tmp_path, api_key=llama.key)
    assert model.capabilities == weights.CAPABILITIES, "its template ignores tools"
    assert (model.name, model.context) == ("my-model", 1024)
    assert (model.counter.name, model.counter.basis) == ("tokenizer/my-model", "tokenizer")

    async def once() -> Any:
        answer = await model.ask(Request(messages=MESSAGES, decoding=LETTER))
        await model.aclose()
        return answer

    assert asyncio.run(once()).text in ("A", "B")
    recorded = json.dumps(model.describe())
    assert "my-model" in recorded
    assert llama.key not in recorded + repr(model) + repr(llama)


def test_a_wrong_key_is_an_error_at_once(llama: RunningServer, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(configured(llama.address), cache=tmp_path, api_key="wrong")
    assert "REMORA_API_KEY" in caught.value.hint


def test_an_address_that_nobody_answers_never_falls_through(weights_cache: Path) -> None:
    with pytest.raises(ModelError, match="cannot reach the model server at"):
        open_model(configured("http://127.0.0.1:1"), cache=weights_cache, api_key=None)


@pytest.mark.parametrize(
    "settings", [configured(None), configured("http://127.0.0.1:1", provider="embedded")]
)
def test_the_embedded_model_needs_no_address_and_can_be_insisted_on(
    settings: ModelConfig, weights_cache: Path
) -> None:
    model = open_model(settings, cache=weights_cache, api_key=None)
    assert isinstance(model, EmbeddedModel)
    assert model.pid is None


def test_an_address_can_be_insisted_on(weights_cache: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(configured(None, provider="openai"), cache=weights_cache, api_key=None)
    assert "model.base_url" in caught.value.hint


def test_without_address_and_weights_rules_decide(tmp_path: Path) -> None:
    model = open_model(configured(None), cache=tmp_path, api_key=None)
    assert isinstance(model, NoModel)
    assert "remora model pull" in model.hint
    with pytest.raises(ModelError, match="no model"):
        asyncio.run(model.ask(Request(messages=(), decoding=Decoding(strategy="rules"))))


def test_a_model_of_the_table_is_chosen_by_its_name_or_by_what_is_installed(
    tmp_path: Path,
) -> None:
    small, large = [*KNOWN_MODELS.values()][1:]
    assert embedded_model(configured(None), tmp_path) is DEFAULT
    (tmp_path / "models").mkdir()
    weights.weights_path(tmp_path, small).write_bytes(b"damaged")
    assert embedded_model(configured(None), tmp_path) is small
    assert embedded_model(configured(None, name=large.name), tmp_path) is large
    status = check_model(configured(None, name=large.name), cache=tmp_path, api_key=None)
    assert (status.document["name"], status.document["weights"]["sha256"]) == (large.name, None)
    for name, problem in ((small.name, "damaged"), (large.name, "missing")):
        with pytest.raises(ModelError, match=problem) as caught:
            open_model(configured(None, name=name), cache=tmp_path, api_key=None)
        assert f"`remora model pull {name}`" in caught.value.hint
    with pytest.raises(ConfigError, match="base_url is not set") as wrong:
        open_model(configured(None, name="gpt"), cache=tmp_path, api_key=None)
    assert "remora model list" in wrong.value.hint


def test_the_embedded_model_is_required_where_it_is_named(tmp_path: Path) -> None:
    embedded = configured(None).model_copy(update={"provider": "embedded"})
    with pytest.raises(ModelError) as caught:
        open_model(embedded, cache=tmp_path, api_key=None)
    assert "remora model pull" in caught.value.hint
    assert "model.base_url" in caught.value.hint


def plain_server(misbehaving: Any, canned: Any, *models: dict[str, Any]) -> ModelConfig:
    """Says what vLLM says: no endpoints of llama.cpp, `max_model_len`."""
    misbehaving.routes["/v1/models"] = canned(body={"data": list(models)})
    misbehaving.routes["/v1/completions"] = canned(status=400, body={"error": "no prompt"})
    return configured(misbehaving.address)


def test_a_server_without_llamas_endpoints_can_do_less(
    misbehaving: Any, canned: Any, tmp_path: Path
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big", "max_model_len": 4096})
    model = open_model(settings, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert model.capabilities == Capabilities(completions=True)
    assert (model.name, model.context) == ("big", 4096)
    assert (model.counter.name, model.counter.basis) == ("upper-bound/1", "bytes")


def test_vllms_tokenizer_counts(misbehaving: Any, canned: Any, tmp_path: Path) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big", "max_model_len": 4096})
    misbehaving.routes["/tokenize"] = canned(body={"count": 7, "tokens": [1] * 7})
    model = open_model(settings, cache=tmp_path, api_key=None)
    assert (model.counter.name, model.counter.count_messages(MESSAGES)) == ("tokenizer/big", 7)
    asyncio.run(model.aclose())


def test_a_status_counts_tokens_as_the_answer_does(
    misbehaving: Any, canned: Any, tmp_path: Path
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    usage = {"choices": [{"text": "A"}], "usage": {"prompt_tokens": 30}}
    misbehaving.routes["/v1/chat/completions"] = canned(body=usage)
    status = check_model(settings, cache=tmp_path, api_key=None)
    assert status.document["counter"].startswith("usage/1 of ")


def test_a_server_that_says_yes_to_everything_is_not_believed(
    misbehaving: Any, canned: Any, tmp_path: Path
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    yes = canned(body={"ok": True})
    misbehaving.routes |= {"/v1/completions": yes, "/tokenize": yes, "/apply-template": yes}
    misbehaving.routes["/props"] = canned(body={"default_generation_settings": {"n_ctx": 99}})
    model = open_model(settings, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert model.capabilities == Capabilities(completions=True)
    assert model.context == 99


@pytest.mark.parametrize("words", ["seed is not supported", "no such parameter"])
def test_status_asks_as_jobs_do(misbehaving: Any, canned: Any, tmp_path: Path, words: str) -> None:
    """One server refuses the seed of jobs, and the other each request of them."""
    settings = plain_server(misbehaving, canned, {"id": "big"})
    probes, refused = [chats(canned)] * 2, canned(status=400, body={"error": words})
    misbehaving.routes["/v1/chat/completions"] = (
        [*probes, refused, chats(canned)] if "seed" in words else [*probes, refused]
    )
    found = check_model(settings, cache=tmp_path, api_key=None)
    sent = [each.body for each in misbehaving.seen if each.path.endswith("/chat/completions")]
    assert sent[2]["stream"]
    assert ("seed" in sent[2], "seed" in sent[3]) == (True, "seed" not in words)
    assert (found.problem is None) is ("seed" in words)
    assert found.problem is None or words in found.problem.message


def chats(canned: Any, **body: Any) -> Any:
    """Return a response to a chat that tests what the server can do."""
    return canned(body={"choices": [{"message": {"content": "A"}}], **body})


REFUSED = {"error": {"message": '"required" requires --tool-call-parser to be set'}}
SHOWN, IGNORED = {"usage": {"prompt_tokens": 90}}, {"usage": {"prompt_tokens": 14}}


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_server_may_refuse_tools(
    misbehaving: Any, canned: Any, tmp_path: Path, status: int
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    form = {"choices": [{"message": {"content": '{\n  "tool": "'}}]}
    answers = [canned(status=status, body=REFUSED), canned(body=form)]
    misbehaving.routes["/v1/chat/completions"] = answers
    model = open_model(settings, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert model.capabilities == Capabilities(completions=True, json_schema=True)


@pytest.mark.parametrize(
    ("with_tool", "without", "has_tools"),
    [
        (SHOWN, IGNORED, True),
        (IGNORED, IGNORED, False),
        ({}, {}, True),
        ({"usage": {"prompt_tokens": 1}}, {"usage": {"prompt_tokens": 1}}, True),
    ],
    ids=["shown", "ignored", "nothing is said", "only what is not cached is counted"],
)
def test_a_template_may_ignore_tools(
    misbehaving: Any,
    canned: Any,
    tmp_path: Path,
    *,
    with_tool: dict[str, Any],
    without: dict[str, Any],
    has_tools: bool,
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    answers = [chats(canned, **with_tool), chats(canned, **without)]
    misbehaving.routes["/v1/chat/completions"] = answers
    model = open_model(settings, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert model.capabilities == Capabilities(completions=True, tools=has_tools)


def test_a_server_that_still_loads_its_model_is_taken_to_have_tools(
    misbehaving: Any, canned: Any, tmp_path: Path
) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    misbehaving.routes["/v1/chat/completions"] = canned(delay_s=0.5)
    quick = settings.model_copy(update={"timeout_s": 0.2})
    model = open_model(quick, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert model.capabilities == Capabilities(completions=True, tools=True)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([{"id": "b"}, {"id": "a"}], "it has a, b"),
        ([], "lists no model"),
        ([{"id": "a\x1b[31m"}], "lists no model"),
    ],
)
def test_which_model_must_be_clear(
    misbehaving: Any, canned: Any, tmp_path: Path, models: list[dict[str, Any]], said: str
) -> None:
    settings = plain_server(misbehaving, canned, *models)
    with pytest.raises(ModelError, match=said) as caught:
        open_model(settings, cache=tmp_path, api_key=None)
    assert "model.name" in caught.value.hint


def test_a_named_model_needs_no_list(misbehaving: Any, canned: Any, tmp_path: Path) -> None:
    settings = configured(misbehaving.address, name="big")
    model = open_model(settings, cache=tmp_path, api_key=None)
    asyncio.run(model.aclose())
    assert (model.name, model.capabilities) == ("big", Capabilities())


def test_exact_asks_without_the_prompt_cache(misbehaving: Any, canned: Any, tmp_path: Path) -> None:
    settings = plain_server(misbehaving, canned, {"id": "big"})
    props = canned(body={"default_generation_settings": {"n_ctx": 4096}})
    misbehaving.routes["/props"] = props
    choice = {"choices": [{"message": {"content": "x"}}]}
    misbehaving.routes["/v1/chat/completions"] = canned(body=choice)
    exact = settings.model_copy(update={"exact": True})
    model = open_model(exact, cache=tmp_path, api_key=None)

    async def once() -> None:
        decoding = Decoding(strategy="grammar", grammar='root ::= "x"')
        await model.ask(Request(messages=MESSAGES, decoding=decoding))
        await model.aclose()

    asyncio.run(once())
    assert misbehaving.seen[-1].body["cache_prompt"] is False


def test_status_of_the_embedded_model(weights_cache: Path) -> None:
    found = check_model(configured(None), cache=weights_cache, api_key=None)
    assert found.problem is None
    assert list(found.document) == KEYS
    assert found.document["provider"] == "embedded"
    assert found.document["reachable"] is True
    assert found.document["capabilities"]["grammar"] is True
    assert found.document["weights"] == {
        "path": str(weights.weights_path(weights_cache)),
        "sha256": DEFAULT.sha256,
        "ok": True,
    }


def test_status_of_an_embedded_model_without_weights(tmp_path: Path) -> None:
    found = check_model(configured(None), cache=tmp_path, api_key=None)
    assert list(found.document) == KEYS
    assert found.document["reachable"] is False
    assert found.document["weights"]["ok"] is False
    assert found.problem is not None
    assert "remora model pull" in found.problem.hint


@pytest.mark.slow
def test_status_of_a_real_server(llama: RunningServer, tmp_path: Path) -> None:
    found = check_model(configured(llama.address), cache=tmp_path, api_key=llama.key)
    assert list(found.document) == KEYS
    assert found.document["base_url"] == f"{llama.address}/v1"
    assert (found.document["name"], found.document["context"]) == ("my-model", 1024)
    assert found.document["reachable"] is True
    assert msgspec.json.decode(msgspec.json.encode(found.document)) == found.document


def test_status_of_a_missing_server(tmp_path: Path) -> None:
    found = check_model(configured("http://127.0.0.1:1"), cache=tmp_path, api_key=None)
    assert found.document["base_url"] == "http://127.0.0.1:1/v1"
    assert found.document["reachable"] is False
    assert found.problem is not None
    assert "cannot reach" in found.problem.message


def test_a_server_that_happens_to_listen_is_only_suggested(
    misbehaving: Any, canned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(misbehaving.address.rpartition(":")[2].removesuffix("/v1"))
    monkeypatch.setattr("remora.models.client.server_probe._USUAL_PORTS", {1: "a", port: "b"})
    assert find_local_servers() == []
    misbehaving.routes["/v1/models"] = canned(body={"data": []})
    assert find_local_servers() == [("b", misbehaving.address)]


@given(st.text())
def test_the_bound_is_never_below_one_token_per_byte(text: str) -> None:
    assert UpperBound().count_text(text) >= len(text.encode("utf-8", "surrogatepass"))


def test_a_text_that_grows_when_normalised_is_counted_grown() -> None:
    ligature = "\ufdfa" * 10  # 3 bytes each, 33 after NFKC
    assert UpperBound().count_text(ligature) >= 330


def test_declared_tools_count() -> None:
    messages = (Message(role="user", content="go"),)
    tool = ToolSchema(name="run", description="x" * 500)
    counter = UpperBound()
    assert counter.count_messages(messages, (tool,)) > counter.count_messages(messages) + 500


def test_a_text_is_sent_to_the_server_once() -> None:
    sent: list[str] = []

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent.append(path)
        return {"prompt": "p", "tokens": [1, 2, 3]}

    counter = ServerTokenizer("m", post)
    messages = (Message(role="user", content="go"),)
    assert [counter.count_messages(messages) for _ in range(3)] == [3, 3, 3]
    assert sent == ["/apply-template", "/tokenize"]


def test_vllm_applies_the_template_itself() -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent.append((path, body))
        return {"count": 7, "max_model_len": 4096}

    counter = ServerTokenizer("m", post, llama=False)
    messages, tools = (Message(role="user", content="go"),), (ToolSchema(name="run"),)
    assert (counter.count_messages(messages, tools), counter.count_text("go")) == (7, 7)
    assert [path for path, _ in sent] == ["/tokenize", "/tokenize"]
    assert sent[0][1]["messages"] == ({"role": "user", "content": "go"},)
    assert sent[0][1]["tools"][0]["function"]["name"] == "run"
    assert sent[1][1] == {"model": "m", "prompt": "go"}


class TestUsage:
    def test_bytes_count_until_the_first_answer(self) -> None:
        counter = UsageCounter()
        assert (counter.name, counter.basis) == ("upper-bound/1", "bytes")
        assert counter.count_text("x" * 984) == 1000

    def test_the_densest_request_so_far_is_the_bound(self) -> None:
        counter = UsageCounter()
        for tokens in (300, 400, 250, 400, None, 0):
            counter.learn(1000, tokens)
        assert counter.count_text("x" * 984) == 500
        assert counter.name == "usage/1 of 0.5 tokens per byte"
        assert counter.least == UsageCounter(TokenRatio(0.25, 0.4)).least

    def test_a_count_that_cannot_be_true_is_ignored(self) -> None:
        counter = UsageCounter()
        for tokens in (1, 10**9):
            counter.learn(1000, tokens)
        assert counter.basis == "bytes"

    def test_half_of_the_sparsest_request_so_far_is_the_least(self) -> None:
        counter = UsageCounter(TokenRatio(0.2, 0.4))
        assert int(counter.count_text("x" * 984) * counter.least) == 100
        counter.learn(1000, 90)  # a cut request
        assert counter.least == UsageCounter(TokenRatio(0.2, 0.4)).least


def test_a_tokenizer_that_answers_nonsense_is_a_model_error() -> None:
    counter = ServerTokenizer("m", lambda path, body: {})
    with pytest.raises(ModelError, match="'tokens'"):
        counter.count_text("go")


def test_rows_of_combining_characters_are_counted_in_linear_time() -> None:
    text = "a" + "\u0315\u0300" * 200_000
    began = time.process_time()
    assert UpperBound().count_text(text) >= len(text.encode())
    assert time.process_time() - began < 4.0


@given(st.text(st.sampled_from("ae\u0300\u0315\ufb03\ufdfa\u1100\u1161\n")))
def test_the_bound_of_short_lines_is_that_of_the_whole_text(text: str) -> None:
    sizes = [len(form.encode()) for form in (text, unicodedata.normalize("NFKC", text))]
    assert UpperBound().count_text(text) == max(sizes) + PER_MESSAGE


REQUEST = Request(
    messages=(Message(role="user", content="go"),), decoding=Decoding(strategy="grammar")
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
