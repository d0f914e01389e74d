"""Answers of the tools `hub_get`, `hub_callers` and `hub_search`, from the project's Hub."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.hub.link_progress import why_unknown
from remora.hub.lookup.node_lookup import no_answer_error
from remora.hub.protocol import MAX_FOUND
from remora.mcp.answer_page import PAGE, answer_text
from remora.mcp.project_data import ProjectRedactor
from remora.usecases.hub.shared_hub import SharedHub

_LINKS = ("callers", "callees", "related_tests")
_Result = TypeVar("_Result")


class HubAnswers:
    """Answers about a project's code. The Hub is opened by the first question.

    Answers have the format of `remora hub get|callers|search --json`, with long lists cut. Secrets
    are replaced, also those in default values and docstrings.
    """

    def __init__(
        self, invocation: Invocation, project: ProjectRedactor, note: Callable[[str], None]
    ) -> None:
        """Create the answers. `note` gets messages such as that the index is being built."""
        self._shared = SharedHub(invocation, note)
        self._project = project

    async def get(self, arguments: Mapping[str, Any]) -> str:
        """Return the facts about a symbol, and the generation of the Hub that they are from."""
        hub = await self._shared.opened()
        context = await self._shared.facts(arguments["name"])
        (node,) = context.values()
        document = msgspec.to_builtins(node) | {"generation": context.generation}
        if None in (node.callers, node.callees, node.related_tests):
            document["unknown"] = await asyncio.to_thread(why_unknown, hub.places)
        return await self._text(document, _command("get", node.key), _LINKS)

    async def callers(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the callers of a symbol, or of its callees or tests."""
        hub = await self._shared.opened()
        kind = arguments.get("kind", "callers")
        (key,) = await self._shared.facts(arguments["name"])
        ask = {"callers": hub.client.callers, "callees": hub.client.callees}.get(
            kind, hub.client.tests
        )
        document = await _answered(ask(key, arguments.get("depth", 1)))
        if document[kind] is None:
            document = document | {"unknown": await asyncio.to_thread(why_unknown, hub.places)}
        return await self._text(document, _command(kind, key), (kind,), arguments)

    async def search(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the symbols whose path or name contains all words of a query."""
        hub = await self._shared.opened()
        query = arguments["query"]
        document = await _answered(hub.client.search(query, MAX_FOUND))
        return await self._text(document, _command("search", query), ("nodes",), arguments)

    async def _text(
        self,
        document: Mapping[str, Any],
        command: Sequence[str],
        lists: Sequence[str],
        arguments: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """Return a document without secrets, with the lists cut to a page."""

        def write() -> str:
            page = {"limit": arguments.get("limit", PAGE), "offset": arguments.get("offset", 0)}
            return answer_text(self._project.redact.clean(document), command, lists, **page)

        return await asyncio.to_thread(write)

    def close(self) -> None:
        self._shared.close()


def _command(verb: str, name: str) -> tuple[str, ...]:
    return ("remora", "hub", verb, "--json", "--", name)


async def _answered(question: Coroutine[Any, Any, _Result | None]) -> _Result:
    answer = await question
    if answer is None:
        raise no_answer_error()
    return answer
