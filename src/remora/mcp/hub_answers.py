"""Answers of the tools `context`, `hub_callers` and `hub_search`, from the project's Hub."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.errors import HostError
from remora.hub.link_progress import why_unknown
from remora.hub.protocol import MAX_FOUND
from remora.hub.sources.node_lookup import answered
from remora.ids import display_name, unescape_path
from remora.mcp.answer_page import PAGE, Page, answer_text
from remora.mcp.code_context import code_context
from remora.mcp.project_data import ProjectRedactor
from remora.mcp.tool_list import BUDGET
from remora.usecases.hub.open_hub import SharedHub
from remora.workspaces.rooted_files import RootedFiles


class HubAnswers:
    """Answers about a project's code. The Hub is opened by the first question.

    Answers of `callers` and `search` have the format of `remora hub callers|search --json`, without
    nulls, and with long lists cut. Secrets are replaced, also those in source code.
    """

    def __init__(
        self, invocation: Invocation, project: ProjectRedactor, note: Callable[[str], None]
    ) -> None:
        """Create the answers. `note` gets messages such as that the index is being built."""
        self._shared = SharedHub(invocation, note)
        self._project = project
        self._files = RootedFiles(invocation.find_root())

    async def context(self, arguments: Mapping[str, Any]) -> Page:
        """Return a symbol's source and what surrounds it, as lines and as a document."""
        hub = await self._shared.opened()
        facts = await self._shared.facts(arguments["name"])
        (node,) = facts.values()
        called = [edge.key for edge in node.callees or () if edge.key.startswith("node:")]
        callees = await hub.client.get_context(called, links=False)
        lists = (node.callers, node.callees, node.related_tests)
        is_unknown = None in lists or not node.tests_complete
        budget = arguments.get("budget", BUDGET)

        def write() -> Page:
            why = why_unknown(hub.places) if is_unknown else ""
            found = code_context(node, callees, self._read, budget, why)
            redact = self._project.redact
            return Page(
                redact.text(found.text()), document=redact.clean(msgspec.to_builtins(found))
            )

        return await asyncio.to_thread(write)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._files.read_bytes(unescape_path(path))
        except HostError:
            return None

    async def callers(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the callers of a symbol, or of its callees or tests."""
        hub = await self._shared.opened()
        kind = arguments.get("kind", "callers")
        (key,) = await self._shared.facts(arguments["name"])
        ask = {"callers": hub.client.callers, "callees": hub.client.callees}.get(
            kind, hub.client.tests
        )
        document = await answered(ask(key, arguments.get("depth", 1)))
        arguments = {"limit": 20, **arguments} if kind == "tests" else arguments  # as the command
        if document[kind] is None:
            document = document | {"unknown": await asyncio.to_thread(why_unknown, hub.places)}
        return await self._text(document, _command(kind, key), (kind, "references"), arguments)

    async def search(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the symbols whose path or name contains all words of a query."""
        hub = await self._shared.opened()
        query = arguments["query"]
        document = await answered(hub.client.search(query, MAX_FOUND))
        return await self._text(document, _command("search", query), ("nodes",), arguments)

    async def _text(
        self,
        document: Mapping[str, Any],
        command: Sequence[str],
        lists: Sequence[str],
        arguments: Mapping[str, Any],
    ) -> str:
        """Return a document without secrets, with the lists cut to a page."""

        def write() -> str:
            page = {"limit": arguments.get("limit", PAGE), "offset": arguments.get("offset", 0)}
            clean = _lean(self._project.redact.clean(document))
            return answer_text(clean, command, lists, **page)

        return await asyncio.to_thread(write)

    def close(self) -> None:
        self._shared.close()


def _lean(value: Any) -> Any:
    """Return a document without nulls, and with names of nodes that people read."""
    match value:
        case Mapping():
            return {
                key: display_name(item) if key in ("key", "node") else _lean(item)
                for key, item in value.items()
                if item is not None
            }
        case list() | tuple():
            return [_lean(item) for item in value]
    return value


def _command(verb: str, name: str) -> tuple[str, ...]:
    return ("remora", "hub", verb, "--json", "--", name)
