"""Asking a server once what it is: its models, its real context, what it can decode."""

import json
from typing import Any

import httpx

from remora.errors import ModelError
from remora.models.address import Address
from remora.models.client import ServerFacts, authorization, unreachable
from remora.models.counters import Post, ServerTokenizer, UpperBound
from remora.models.model import Capabilities, Decoding, TokenCounter
from remora.models.refusal import refusal, unusable
from remora.models.wire import Unusable, rank_body, read_rank

_ABSENT = (404, 405, 501)


class Door:
    """A synchronous connection to one server, for probing and counting."""

    def __init__(self, address: Address, *, key: str | None, timeout_s: float) -> None:
        self.address = address
        self._key = key
        self._timeout_s = timeout_s
        self._http = httpx.Client(
            headers=authorization(key), timeout=timeout_s, trust_env=not address.loopback
        )

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A JSON answer from the server's own endpoint `path`. Raises ModelError."""
        status, answer = self._send("POST", f"{self.address.root}{path}", json.dumps(body))
        if status >= 300:
            raise refusal(status, answer, shown=self.address.shown, key=self._key)
        found = _object(answer)
        if found is None:
            raise unusable(self.address.shown, f"{path} gave no JSON object")
        return found

    def try_json(self, method: str, url: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON object at `url`, or the status if there is none. A refused key is an error."""
        status, answer = self._send(method, url, None if body is None else json.dumps(body))
        if status in (401, 403):
            raise refusal(status, answer, shown=self.address.shown, key=self._key)
        return (_object(answer) if status < 300 else None) or status

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _send(self, method: str, url: str, content: str | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        try:
            answer = self._http.request(method, url, content=content, headers=headers)
        except httpx.TransportError as error:
            shown, limit = self.address.shown, self._timeout_s
            raise unreachable(error, shown=shown, timeout_s=limit) from error
        except httpx.DecodingError as error:
            raise unusable(self.address.shown, "a body that cannot be decompressed") from error
        return answer.status_code, answer.content


def probe(door: Door, *, name: str | None) -> ServerFacts:
    """What the server at `door` is and can do. Raises ModelError if it cannot be reached.

    Nothing is concluded from a name or a version: each ability is asked for and seen.
    """
    address = door.address
    listed = _models(door.try_json("GET", f"{address.api}/models"))
    chosen = name or _only_model(listed, address.shown)
    context = _served_context(next((m for m in listed if m["id"] == chosen), {}))
    abilities = Capabilities(completions=_has_completions(door))
    props = None if address.root is None else door.try_json("GET", f"{address.root}/props")
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    if isinstance(settings, dict):
        context = _whole(settings.get("n_ctx")) or context
        ranks = _ranks(door)
        abilities = Capabilities(
            rank=ranks,
            grammar=ranks,
            completions=abilities.completions,
            tokenize=_tokenizes(door),
        )
    return ServerFacts(
        name=chosen, capabilities=abilities, context=context, llama=isinstance(settings, dict)
    )


def counter_for(facts: ServerFacts, post: Post) -> TokenCounter:
    """The server's tokenizer where it can be asked, else the upper bound."""
    return ServerTokenizer(facts.name, post) if facts.capabilities.tokenize else UpperBound()


def _models(found: Any) -> list[dict[str, Any]]:
    listed = found.get("data") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        return []
    return [m for m in listed if isinstance(m, dict) and isinstance(m.get("id"), str)]


def _only_model(listed: list[dict[str, Any]], shown: str) -> str:
    names = [str(m["id"]) for m in listed]
    if len(names) == 1:
        return names[0]
    has = f"it has {', '.join(sorted(names)[:10])}" if names else "it does not list its models"
    raise ModelError(
        f"which model of the server at {shown}? {has}",
        hint="set model.name (or --model NAME)",
    )


def _served_context(model: dict[str, Any]) -> int | None:
    meta = model.get("meta")
    served = _whole(meta.get("n_ctx")) if isinstance(meta, dict) else None
    return served or _whole(model.get("max_model_len"))


def _has_completions(door: Door) -> bool:
    # an empty request costs nothing: a server that has the endpoint complains of its body
    found = door.try_json("POST", f"{door.address.api}/completions", {})
    return found not in _ABSENT


def _ranks(door: Door) -> bool:
    labels = ("A", "B")
    body = rank_body("A or B?", Decoding(strategy="rank", labels=labels))
    found = door.try_json("POST", f"{door.address.root}/completion", body)
    try:
        return isinstance(found, dict) and read_rank(found, labels).text in labels
    except Unusable:
        return False


def _tokenizes(door: Door) -> bool:
    root = door.address.root
    tokens = door.try_json("POST", f"{root}/tokenize", {"content": "A"})
    body = {"messages": [{"role": "user", "content": "A"}]}
    prompt = door.try_json("POST", f"{root}/apply-template", body)
    has_tokens = isinstance(tokens, dict) and isinstance(tokens.get("tokens"), list)
    return has_tokens and isinstance(prompt, dict) and isinstance(prompt.get("prompt"), str)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
