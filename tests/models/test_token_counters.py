import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import Message, ToolSchema
from remora.errors import ModelError
from remora.models.token_counters import (
    PER_MESSAGE,
    ServerTokenizer,
    TokenRatio,
    UpperBound,
    UsageCounter,
)


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
        saved = list[TokenRatio]()
        counter = UsageCounter(save=saved.append)
        for tokens in (300, 400, 250, 400, None, 0):
            counter.learn(1000, tokens)
        assert counter.count_text("x" * 984) == 500
        assert counter.name == "usage/1 of 0.5 tokens per byte"
        assert saved == [(0.3, 0.3), (0.3, 0.4), (0.25, 0.4)]
        assert UsageCounter(saved[-1]).name == counter.name

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
