"""The Hub of a project, opened by the first question of a server and kept for the next ones."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from remora.bootstrap.invocation import Invocation
from remora.hub.client import Context
from remora.hub.lookup.not_found import unknown_node
from remora.usecases.hub.open_hub import HubObserver, OpenedHub, Progress, open_hub
from remora.usecases.hub.target import HubTarget


class SharedHub:
    """The Hub of a project, for the questions of one event loop.

    `note` gets messages such as that the index is being built.
    """

    def __init__(self, invocation: Invocation, note: Callable[[str], None]) -> None:
        self._invocation = invocation
        self._observer = HubObserver(note=note, progress=_without_progress)
        self._open = ExitStack()
        self._opening: asyncio.Future[OpenedHub] | None = None

    async def opened(self) -> OpenedHub:
        """Return the Hub. A question that is cancelled does not stop the opening for others.

        Raises ConfigError if the configuration is invalid.
        """
        if self._opening is None or _failed(self._opening):
            loop = asyncio.get_running_loop()
            self._opening = loop.run_in_executor(
                None,
                self._open.enter_context,
                open_hub(self._invocation, HubTarget(), self._observer),
            )
        return await asyncio.shield(self._opening)

    async def facts(self, name: str) -> Context:
        """Return the facts about the symbol that a name refers to.

        Raises NotFound if there is no such symbol, and UsageError if there are several.
        """
        hub = await self.opened()
        key = name if name.startswith("node:") else f"node:{name}"
        found = await hub.client.get_context([key])
        if not found:
            meant = await hub.client.find(name, folder=hub.folder)
            found = await hub.client.get_context([meant.key])
            if not found:  # it was removed since
                raise unknown_node(meant.key, ())
        return found

    def close(self) -> None:
        self._open.close()


def _failed(opening: asyncio.Future[OpenedHub]) -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)


@contextmanager
def _without_progress() -> Iterator[Progress]:
    yield lambda _done, _total: None
