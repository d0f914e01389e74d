"""Redaction of model answers, tool arguments and changed files."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remora.models.protocol import Answer, Capabilities, Model, Request, TokenCounter
from remora.trace.redact.placeholder import new_placeholders
from remora.trace.redact.redactor import Redactor


class RedactedModel:
    """Wraps a model and redacts its answers, so that agents act only on recorded text."""

    def __init__(self, model: Model, redact: Redactor) -> None:
        self._model = model
        self._redact = redact

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities

    @property
    def context(self) -> int | None:
        return self._model.context

    @property
    def counter(self) -> TokenCounter:
        return self._model.counter

    def describe(self) -> dict[str, Any]:
        return self._redact.clean(self._model.describe())

    async def ask(self, request: Request) -> Answer:
        return self._redact.clean(await self._model.ask(request))

    async def aclose(self) -> None:
        await self._model.aclose()


def placeholder_in_args(args: Mapping[str, Any], base: bytes | None) -> str | None:
    """Return the reason to refuse a call, or None if the call is allowed.

    A call is refused if its arguments contain a placeholder for a secret that is not in `base`.
    """
    return _refusal(new_placeholders(base, "\n".join(_texts(args))), "the arguments hold")


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, bytes):
            yield item.decode("utf-8", "replace")
        elif isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item


def placeholder_in_files(files: Iterable[tuple[bytes | None, bytes | None]]) -> str | None:
    """Return the reason to refuse a change set, or None if the change set is allowed.

    A change set is refused if it adds a placeholder for a secret to a file. `files` contains the
    content of each file before and after the changes, with None for a file that does not exist.
    """
    found = {one for before, after in files for one in new_placeholders(before, after or b"")}
    return _refusal(found, "a changed file holds")


def _refusal(found: set[str], what: str) -> str | None:
    if not found:
        return None
    return f"{what} {min(found)}, a placeholder for a secret that agents may not write"
