"""Scores texts by how much more likely a prompt makes them than an empty one does.

The score is log p(text | prompt) - log p(text | empty), or has other weights for both terms, which
were fitted to texts of the same kind. llama.cpp servers are asked for the
probability of each token of a text, after all tokens before it. What texts have in common at their
start does not change their order, so it belongs to the prompt. If the rest of each text is a single
token, one request returns all probabilities. Other servers are asked to echo the prompt and the text
with the probabilities of their tokens.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from remora.chat import Usage
from remora.models.client.wire_format import UnusableAnswer, read_usage
from remora.models.protocol import Answer, Decoding, Request

Post = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a body to an address, and returns the response."""
Tokens = tuple[int, ...]
_BIAS = 100.0
_SMALLEST = 1e-12
_MEMO_SIZE = 2_000
_FIELDS = ("model", "tokens_evaluated", "timings", "completion_probabilities")


class Scored(msgspec.Struct, frozen=True):
    """The natural-log probability of a text, and the token counts of the requests."""

    logprob: float
    usage: Usage = Usage()


class TextScorer:
    """Scores texts with one server. Tokens of texts, and scores after `empty`, are remembered."""

    def __init__(self, *, post: Post, root: str, api: str, model: str, llama: bool) -> None:
        self._post = post
        self._root = root
        self._api = api
        self._model = model
        self._llama = llama
        self._empty: dict[tuple[str, tuple[str, ...]], list[Scored]] = {}
        self._tokens: dict[tuple[str, bool], Tokens] = {}

    async def answer(self, request: Request, *, parallel: bool) -> Answer:
        """Score the texts of a request. With `parallel`, send up to two requests at the same time.

        Raises UnusableAnswer if the server does not return the probabilities.
        """
        decoding, prompt = request.decoding, request.prompt
        if prompt is None or not decoding.texts or len(decoding.texts) != len(decoding.labels):
            raise ValueError("likelihood needs a prompt, and a label for each text")
        if parallel:
            after, before = await asyncio.gather(
                self._scored(prompt, decoding), self._scored_empty(decoding)
            )
        else:
            before = await self._scored_empty(decoding)
            after = await self._scored(prompt, decoding)
        weights = decoding.weights
        scores = {
            label: weights.given * one.logprob + weights.alone * empty.logprob
            for label, one, empty in zip(decoding.labels, after, before, strict=True)
        }
        return Answer(
            text=max(scores, key=scores.__getitem__),
            scores=scores,
            usage=_total(after),
            finish_reason="scored",
            model=self._model,
            raw={
                "texts": [
                    {"prompt": one.logprob, "empty": empty.logprob}
                    for one, empty in zip(after, before, strict=True)
                ]
            },
        )

    async def _scored_empty(self, decoding: Decoding) -> list[Scored]:
        key = decoding.empty, decoding.texts
        if key not in self._empty:
            if len(self._empty) >= _MEMO_SIZE:
                self._empty.clear()
            self._empty[key] = await self._scored(decoding.empty, decoding)
        return self._empty[key]

    async def _scored(self, prompt: str, decoding: Decoding) -> list[Scored]:
        if not self._llama:
            return [await self._echoed(prompt, text) for text in decoding.texts]
        start = await self._tokenized(prompt, special=True)
        texts = [await self._tokenized(text, special=False) for text in decoding.texts]
        shared = len(common_start(texts)) if len(texts) > 1 else 0
        start, rest = start + texts[0][:shared], [text[shared:] for text in texts]
        if len(rest) > 1 and all(len(one) == 1 for one in rest) and len(set(rest)) == len(rest):
            return await self._alternatives(start, [one[0] for one in rest], decoding)
        known: dict[Tokens, Scored] = {}
        return [await self._in_steps(start, one, known, decoding) for one in rest]

    async def _alternatives(
        self, start: Tokens, tokens: Sequence[int], decoding: Decoding
    ) -> list[Scored]:
        body = tokens_body(start, tokens, after_bias=True, cache=decoding.cache_prompt)
        return read_alternatives(await self._post(f"{self._root}/completion", body), tokens)

    async def _in_steps(
        self, start: Tokens, text: Tokens, known: dict[Tokens, Scored], decoding: Decoding
    ) -> Scored:
        """Score a text token by token. `known` contains the last tokens of scored texts."""
        steps = []
        for end in range(1, len(text) + 1):
            if text[:end] not in known:
                body = tokens_body(
                    start + text[: end - 1],
                    text[end - 1 : end],
                    after_bias=False,
                    cache=decoding.cache_prompt,
                )
                found = await self._post(f"{self._root}/completion", body)
                known[text[:end]] = read_token(found, text[end - 1])
            steps.append(known[text[:end]])
        return Scored(sum(step.logprob for step in steps), _total(steps))

    async def _echoed(self, prompt: str, text: str) -> Scored:
        body = {**echo_body(prompt + text), "model": self._model}
        return read_echo(await self._post(f"{self._api}/completions", body), prompt, text)

    async def _tokenized(self, text: str, *, special: bool) -> Tokens:
        """Return the tokens of a text. `special` adds those that start every prompt."""
        if (text, special) not in self._tokens:
            body = {"content": text, "add_special": special, "parse_special": special}
            found = (await self._post(f"{self._root}/tokenize", body)).get("tokens")
            if not isinstance(found, list) or not all(isinstance(one, int) for one in found):
                raise UnusableAnswer("no tokens in the response to /tokenize")
            if len(self._tokens) >= _MEMO_SIZE:
                self._tokens.clear()
            self._tokens[text, special] = tuple(found)
        return self._tokens[text, special]


def common_start(texts: Sequence[Tokens]) -> Tokens:
    """Return the tokens with which all texts start."""
    same = takewhile(lambda each: len(set(each)) == 1, zip(*texts, strict=False))
    return tuple(each[0] for each in same)


def tokens_body(
    prompt: Tokens, tokens: Sequence[int], *, after_bias: bool, cache: bool
) -> dict[str, Any]:
    """Return the body of a llama.cpp `/completion` request for the probabilities of tokens.

    All tokens get the same bias, which rules out other ones and keeps the odds between these. The
    reported probabilities include the bias only if `after_bias` is true.
    """
    return {
        "prompt": list(prompt),
        "n_predict": 1,
        "logit_bias": [[token, _BIAS] for token in tokens],
        "samplers": ["temperature"],
        "temperature": 1,
        "n_probs": len(tokens),
        "post_sampling_probs": after_bias,
        "cache_prompt": cache,
        "response_fields": list(_FIELDS),
    }


def read_alternatives(body: dict[str, Any], tokens: Sequence[int]) -> list[Scored]:
    """Read the log probabilities of single tokens, all up to the same constant."""
    try:
        top = body["completion_probabilities"][0]["top_probs"]
        found = {entry["id"]: float(entry["prob"]) for entry in top}
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UnusableAnswer("no probabilities in the response to a scoring request") from error
    if sum(found.get(token, 0.0) for token in tokens) < 0.5:
        raise UnusableAnswer("most of the probability belongs to other tokens")
    usage = read_usage(body)
    return [Scored(math.log(max(found.get(token, 0.0), _SMALLEST)), usage) for token in tokens]


def read_token(body: dict[str, Any], token: int) -> Scored:
    """Read the log probability of the generated token, which must be `token`."""
    try:
        entry = body["completion_probabilities"][0]
        logprob, found = float(entry["logprob"]), entry["id"]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UnusableAnswer("no probabilities in the response to a scoring request") from error
    if found != token or not math.isfinite(logprob):
        raise UnusableAnswer("the server did not generate the token that it should score")
    return Scored(logprob, read_usage(body))


def echo_body(text: str) -> dict[str, Any]:
    """Return the body of a `/v1/completions` request for the probabilities of a prompt's tokens."""
    return {"prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}


def read_echo(body: dict[str, Any], prompt: str, text: str) -> Scored:
    """Read the log probability of `text` after `prompt` from the echoed tokens."""
    first, end = len(prompt), len(prompt) + len(text)
    try:
        found = body["choices"][0]["logprobs"]
        tokens = list(
            zip(found["text_offset"], found["tokens"], found["token_logprobs"], strict=True)
        )
        own = [
            float(logprob)
            for offset, token, logprob in tokens
            if offset < end and offset + len(token) > first and logprob is not None
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UnusableAnswer("no probabilities of the prompt's tokens in the response") from error
    if not own or not math.isfinite(sum(own)):
        raise UnusableAnswer("no probabilities of the text in the response")
    return Scored(sum(own), read_usage(body))


def _total(scored: Sequence[Scored]) -> Usage:
    """Return the first request's prompt tokens, and the tokens evaluated by all requests."""
    evaluated = [one.usage.evaluated for one in scored if one.usage.evaluated is not None]
    return Usage(
        prompt_tokens=scored[0].usage.prompt_tokens if scored else None,
        completion_tokens=0,
        evaluated=sum(evaluated) if evaluated else None,
    )
