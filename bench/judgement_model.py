"""Log probabilities from the embedded model's server, with a cache on disk."""

import hashlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from remora.models.client.server_address import parse_address
from remora.models.client.sync_http import ServerConnection
from remora.models.embedded import weights
from remora.models.embedded.server_process import ServerOptions, ServerProcess, usable_cores
from remora.models.model_settings import RequestLimits

CACHE = Path.home() / ".cache" / "remora"
_CONTEXT = 2048
_LABEL_BIAS = 100
_SMALLEST = 1e-12

LogProbs = list[float]
"""One log probability per token of a text."""


class ScoredTexts:
    """Log probabilities of texts after a prompt. The server starts with the first new question."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._known: dict[str, LogProbs] = {}
        self._token_ids: dict[str, int] = {}
        self._connection: ServerConnection | None = None
        self._process = ServerProcess(
            ServerOptions(
                weights=weights.require(CACHE),
                name=weights.MODEL,
                context=_CONTEXT,
                slots=1,
                threads=usable_cores(),
                cache_mib=0,
            )
        )
        self.asked = 0
        self.seconds = 0.0
        if cache.exists():
            for line in cache.read_text("utf-8").splitlines():
                known = json.loads(line)
                self._known[known["key"]] = known["logprobs"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection is not None:
            self._connection.close()
        self._process.close()

    def texts(self, prompt: str, texts: Sequence[str]) -> list[LogProbs]:
        """Return the log probabilities of each text's tokens after the prompt."""
        return [self._kept(f"{prompt}\0{text}", prompt, text) for text in texts]

    def first_tokens(self, prompt: str, texts: Sequence[str]) -> list[LogProbs]:
        """Return the log probability of each text's first token, up to a common constant."""
        key = _key("\0".join(["first", prompt, *texts]))
        if key not in self._known:
            ids = [self._first_token(text) for text in texts]
            body = {
                "prompt": prompt,
                "n_predict": 1,
                "logit_bias": [[number, _LABEL_BIAS] for number in ids],
                "samplers": ["temperature"],
                "temperature": 1,
                "n_probs": len(ids),
                # the probabilities with the bias, whose odds are those without it
                "post_sampling_probs": True,
                "cache_prompt": True,
            }
            top = self._timed(body)["completion_probabilities"][0]["top_probs"]
            found = {each["id"]: each["prob"] for each in top}
            self._keep(key, [math.log(max(found.get(id_, 0), _SMALLEST)) for id_ in ids])
        return [[value] for value in self._known[key]]

    def _kept(self, words: str, prompt: str, text: str) -> LogProbs:
        # token by token: a grammar with the text would also allow unusual, shorter tokens
        key = _key("steps\0" + words)
        if key not in self._known:
            start = self._tokens(prompt, special=True)
            tokens = self._tokens(text, special=False)
            self._keep(key, [self._step(start + tokens[:n], tokens[n]) for n in range(len(tokens))])
        return self._known[key]

    def _tokens(self, text: str, *, special: bool) -> list[int]:
        body = {"content": text, "add_special": special, "parse_special": special}
        found: list[int] = self._post("/tokenize", body)["tokens"]
        return found

    def _step(self, prompt: list[int], token: int) -> float:
        body = {
            "prompt": prompt,
            "n_predict": 1,
            "n_probs": 1,
            "logit_bias": [[token, _LABEL_BIAS]],
            "samplers": ["temperature"],
            "temperature": 1,
            "post_sampling_probs": False,
            "cache_prompt": True,
        }
        return float(self._timed(body)["completion_probabilities"][0]["logprob"])

    def _keep(self, key: str, logprobs: LogProbs) -> None:
        self._known[key] = [round(value, 4) for value in logprobs]
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        with self._cache.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "logprobs": self._known[key]}) + "\n")

    def _first_token(self, text: str) -> int:
        if text not in self._token_ids:
            self._token_ids[text] = self._post("/tokenize", {"content": text})["tokens"][0]
        return self._token_ids[text]

    def _timed(self, body: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        answer = self._post("/completion", body | {"response_fields": ["completion_probabilities"]})
        self.asked += 1
        self.seconds += time.perf_counter() - start
        return answer

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if self._connection is None:
            served = self._process.ensure_running()
            self._connection = ServerConnection(
                parse_address(served.address), key=served.key, limits=RequestLimits(timeout_s=300)
            )
        return self._connection.post(path, body)


def _key(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:32]
