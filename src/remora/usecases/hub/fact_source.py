"""Hub facts for the agents of a run."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Literal

from remora.agents.inputs.hub_pull import NodeFacts, NoHub
from remora.bootstrap.invocation import Invocation
from remora.errors import OutsideError
from remora.hub.client import Context, HubClient
from remora.hub.file_limits import FileRules
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.memory.hub_facts import constructor_of
from remora.runs.project import Project
from remora.usecases.hub.target import HubTarget

TURN_S = 0.25
"""Maximum seconds that a turn waits for facts: a small part of the model's time."""
EXACT_S = 30.0
"""Maximum for reproducible runs, whose packets must not depend on the machine's load."""
_AHEAD_S = 2.0
"""Maximum to look up a node ahead. On Django, the callers of few functions take longer."""
_POLL_S = 0.1
"""Seconds between two looks at the thread that indexes."""
_READY_S = 2.0
"""Seconds in which a running daemon answers (decision)."""


class FactsAhead:
    """Facts for agents. Returns what is known within the time of a turn.

    It keeps looking up the rest for later turns. Facts that were found are kept, because agents work
    on the files as they were at the beginning.
    """

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._known: dict[str, Context] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def get_context(self, keys: list[str]) -> Context:
        """Return facts by node key. Never raises."""
        if keys:
            await asyncio.wait([self._ask(key) for key in keys], timeout=TURN_S)
        found = Context()
        for answer in (self._known[key] for key in keys if key in self._known):
            found.update(answer)
            if answer.source is not None:
                found.source, found.generation = answer.source, answer.generation
        return found

    async def look_up(self, nodes: Iterable[str], indexing: Thread) -> None:
        """Look up nodes one after another, after the index was built."""
        while indexing.is_alive():  # noqa: ASYNC110 (a thread sets no event)
            await asyncio.sleep(_POLL_S)
        for key in nodes:
            await self._ask(key)

    def cancel(self) -> None:
        """Stop looking up nodes."""
        for task in self._asked.values():
            task.cancel()

    def _ask(self, key: str) -> asyncio.Task[None]:
        task = self._asked.get(key)
        if task is None or (task.done() and not self._is_linked(key)):
            task = self._asked[key] = asyncio.create_task(self._find(key))
        return task

    def _is_linked(self, key: str) -> bool:
        nodes = self._known.get(key, Context()).values()
        return bool(nodes) and all(node.callers is not None for node in nodes)

    async def _find(self, key: str) -> None:
        self._known[key] = await self._client.get_context([key, constructor_of(key)])


@dataclass(frozen=True, kw_only=True)
class HubFactSource:
    """The target and the settings of the Hub client."""

    root: Path
    enabled: Literal["auto"] | bool
    places: HubPaths
    files: FileRules
    deadline: float
    """Maximum seconds of a request."""
    indexing: Thread | None
    """Brings the index up to date, if a model reads the facts."""

    @asynccontextmanager
    async def opened(self, nodes: Iterable[str] = ()) -> AsyncIterator[NodeFacts]:
        """Open the source of facts for the agents of a run, which will work on `nodes`.

        Raises OutsideError if the configuration requires a running daemon but none is running.
        """
        if self.enabled is False:
            yield NoHub()
            return
        async with HubClient(
            self.root, places=self.places, deadline=self.deadline, files=self.files
        ) as client:
            if self.enabled is True and not await client.is_served(_READY_S):
                raise OutsideError(
                    f"hub.enabled is true, but no daemon is running for {self.root}",
                    hint="run `remora hub start`, or set hub.enabled: auto to work without it",
                )
            if self.indexing is None:
                yield client
                return
            facts = FactsAhead(client)
            looking = asyncio.create_task(facts.look_up(nodes, self.indexing))
            try:
                yield facts
            finally:
                looking.cancel()
                facts.cancel()


def fact_source(
    invocation: Invocation, project: Project, *, is_read: bool = False
) -> HubFactSource:
    """Return the fact source that the configuration selects.

    If a model reads the facts, begin to index, unless the run must be reproducible.
    """
    config = project.config
    indexing = None
    if is_read and config.hub.enabled is not False and not config.model.exact:
        at_root = replace(invocation, root=project.root)
        indexing = Thread(target=_index, args=(at_root,), daemon=True)
        indexing.start()
    return HubFactSource(
        root=project.root,
        enabled=config.hub.enabled,
        places=hub_paths(invocation.folders, project.root),
        files=FileRules(tuple(config.exclude), config.hub.file_limit),
        deadline=EXACT_S if config.model.exact else _AHEAD_S if indexing else TURN_S,
        indexing=indexing,
    )


def _index(invocation: Invocation) -> None:
    from remora.usecases.hub.index import index_hub  # imports the analysis

    with suppress(Exception):  # without an index, callers are unknown
        index_hub(invocation, HubTarget(), lambda _done, _total: None)
