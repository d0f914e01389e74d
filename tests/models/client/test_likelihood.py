"""Texts are scored by the probabilities that a server gives to their tokens."""

import asyncio
from typing import Any

import pytest

from remora.chat import TextWeights
from remora.models.client.likelihood import TextScorer, common_start, read_echo, read_token
from remora.models.client.wire_format import UnusableAnswer
from remora.models.protocol import Answer, Decoding, Request

UNFITTED = TextWeights()
WORDS = {" from": 1, " e": 2, " None": 3, " a": 4, " b": 5}


class Llama:
    """A llama.cpp server that knows a few words; its odds depend on the length of the prompt."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        if url.endswith("/tokenize"):
            return {"tokens": self.tokens(body["content"])}
        self.requests.append(body)
        ids = [token for token, _ in body["logit_bias"]]
        seen = {"tokens_evaluated": len(body["prompt"]), "timings": {"prompt_n": 1}}
        if body["post_sampling_probs"]:
            top = [{"id": one, "prob": 1 / len(ids)} for one in ids]
            return {**seen, "completion_probabilities": [{"top_probs": top}]}
        entry = {"id": ids[0], "logprob": -float(len(body["prompt"]))}
        return {**seen, "completion_probabilities": [entry]}

    def tokens(self, text: str) -> list[int]:
        found = []
        while text:
            word = next((word for word in WORDS if text.startswith(word)), text[0])
            found.append(WORDS[word] if word in WORDS else 100 + ord(word))
            text = text[len(word) :]
        return found


def score(llama: Llama, *texts: str, weights: TextWeights = UNFITTED) -> Answer:
    scorer = TextScorer(post=llama.post, root="/r", api="/v1", model="m", llama=True)
    labels = tuple("ABCDEF"[: len(texts)])
    decoding = Decoding(
        strategy="likelihood", labels=labels, texts=texts, empty="z", weights=weights
    )
    return asyncio.run(scorer.answer(Request(prompt="xyz", decoding=decoding), parallel=False))


def test_texts_that_differ_in_one_token_need_one_request_each_for_prompt_and_empty() -> None:
    llama = Llama()
    assert score(llama, " from e", " from None").scores == {"A": 0.0, "B": 0.0}
    assert [body["prompt"][-1] for body in llama.requests] == [1, 1], "the common start is context"
    assert [len(body["logit_bias"]) for body in llama.requests] == [2, 2]


def test_longer_texts_are_scored_token_by_token_after_both_prompts() -> None:
    llama = Llama()
    answer = score(llama, " a b", " b a")
    assert answer.raw["texts"][0] == {"prompt": -3.0 - 4.0, "empty": -1.0 - 2.0}
    assert answer.scores == {"A": -4.0, "B": -4.0}


def test_fitted_weights_combine_both_likelihoods() -> None:
    weights = TextWeights(given=0.5, alone=-0.25)
    answer = score(Llama(), " a b", " b a", weights=weights)
    assert answer.scores["A"] == 0.5 * -7.0 - 0.25 * -3.0
    assert answer.raw["texts"][0] == {"prompt": -7.0, "empty": -3.0}, "recorded without weights"


def test_what_was_scored_after_the_empty_prompt_is_remembered() -> None:
    llama = Llama()
    scorer = TextScorer(post=llama.post, root="/r", api="/v1", model="m", llama=True)
    decoding = Decoding(strategy="likelihood", labels=("A", "B"), texts=(" a", " b"), empty="z")
    for prompt in ("x", "y"):
        asyncio.run(scorer.answer(Request(prompt=prompt, decoding=decoding), parallel=False))
    assert len(llama.requests) == 3


def test_the_common_start_of_texts() -> None:
    assert common_start([(1, 2, 3), (1, 2, 4)]) == (1, 2)
    assert common_start([(1,), (1, 2)]) == (1,)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"completion_probabilities": []},
        {"completion_probabilities": [{"id": 8, "logprob": -1.0}]},
        {"completion_probabilities": [{"id": 7, "logprob": float("nan")}]},
        {"completion_probabilities": "prose"},
    ],
)
def test_an_answer_without_the_tokens_probability_is_unusable(body: dict[str, Any]) -> None:
    with pytest.raises(UnusableAnswer):
        read_token(body, 7)


def test_an_echo_counts_only_the_tokens_of_the_text() -> None:
    logprobs = {
        "tokens": ["ab", " c", "d", "!"],
        "text_offset": [0, 2, 4, 5],
        "token_logprobs": [None, -1.0, -2.0, -4.0],
    }
    body = {"choices": [{"logprobs": logprobs}]}
    assert read_echo(body, "ab", " cd").logprob == -3.0
    with pytest.raises(UnusableAnswer):
        read_echo({"choices": [{"logprobs": None}]}, "ab", " cd")
