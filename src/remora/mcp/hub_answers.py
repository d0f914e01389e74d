"""Answers of the tools `hub_get`, `hub_callers` and `hub_search`, from the project's Hub."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import msgspec

from remora.bootstrap.hub.open_hub import HubObserver, OpenedHub, Progress, open_hub
from remora.bootstrap.hub.target import HubTarget
from remora.bootstrap.invocation import Invocation
from remora.hub.client import Context
from remora.hub.link_progress import why_unknown
from remora.hub.lookup.find import no_answer_error
from remora.hub.lookup.not_found import unknown_node
from remora.hub.protocol import MAX_FOUND
from remora.mcp.answer_page import PAGE, answer_text

_LINKS = ("callers", "callees", "related_tests")
_Result = TypeVar("_Result")


class HubAnswers:
    """Answers about a project's code. The Hub is opened by the first question.

    Answers have the format of `remora hub get|callers|search --json`, with long lists cut.
    """

    def __init__(self, invocation: Invocation, note: Callable[[str], None]) -> None:
        """Create the answers. `note` gets messages such as that the index is being built."""
        self._invocation = invocation
        self._observer = HubObserver(note=note, progress=_without_progress)
        self._open = ExitStack()
        self._opening: asyncio.Future[OpenedHub] | None = None

    async def get(self, arguments: Mapping[str, Any]) -> str:
        """Return the facts about a symbol, and the generation of the Hub that they are from."""
        hub = await self._hub()
        context = await _facts(hub, arguments["name"])
        (node,) = context.values()
        document = msgspec.to_builtins(node) | {"generation": context.generation}
        if None in (node.callers, node.callees, node.related_tests):
            document["unknown"] = await asyncio.to_thread(why_unknown, hub.places)
        return answer_text(document, _LINKS)

    async def callers(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the callers of a symbol, or of its callees or tests."""
        hub = await self._hub()
        kind = arguments.get("kind", "callers")
        (key,) = await _facts(hub, arguments["name"])
        ask = {"callers": hub.client.callers, "callees": hub.client.callees}.get(
            kind, hub.client.tests
        )
        document = await _answered(ask(key, arguments.get("depth", 1)))
        if document[kind] is None:
            document = document | {"unknown": await asyncio.to_thread(why_unknown, hub.places)}
        return answer_text(document, (kind,), **_page_of(arguments))

    async def search(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the symbols whose path or name contains all words of a query."""
        hub = await self._hub()
        document = await _answered(hub.client.search(arguments["query"], MAX_FOUND))
        return answer_text(document, ("nodes",), **_page_of(arguments))

    def close(self) -> None:
        self._open.close()

    async def _hub(self) -> OpenedHub:
        """Return the opened Hub. A call that is cancelled does not stop the opening for others."""
        if self._opening is None or _failed(self._opening):
            loop = asyncio.get_running_loop()
            self._opening = loop.run_in_executor(
                None,
                self._open.enter_context,
                open_hub(self._invocation, HubTarget(), self._observer),
            )
        return await asyncio.shield(self._opening)


async def _facts(hub: OpenedHub, name: str) -> Context:
    """Return the facts about the symbol that a name refers to.

    Raises NotFound if there is no such symbol, and UsageError if there are several.
    """
    key = name if name.startswith("node:") else f"node:{name}"
    found = await hub.client.refresh_context([key])
    if not found:
        meant = await hub.client.find(name, folder=hub.folder)
        found = await hub.client.refresh_context([meant.key])
        if not found:  # it was removed since
            raise unknown_node(meant.key, ())
    return found


async def _answered(question: Coroutine[Any, Any, _Result | None]) -> _Result:
    answer = await question
    if answer is None:
        raise no_answer_error()
    return answer


def _page_of(arguments: Mapping[str, Any]) -> dict[str, int]:
    return {"limit": arguments.get("limit", PAGE), "offset": arguments.get("offset", 0)}


def _failed(opening: asyncio.Future[OpenedHub]) -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)


@contextmanager
def _without_progress() -> Iterator[Progress]:
    yield lambda _done, _total: None
