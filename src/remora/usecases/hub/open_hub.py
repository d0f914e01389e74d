"""Opens the Hub of a project for the queries of a command, or of a server that keeps it open."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from remora.bootstrap.invocation import Invocation, is_configured, open_config
from remora.errors import OutsideError
from remora.hub.client import Context, HubClient
from remora.hub.file_limits import FileRules
from remora.hub.lookup.not_found import unknown_node
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.spawn import tune_gc
from remora.usecases.hub.target import HubTarget, Progress, hub_paths_of

_TIMEOUT_S = 120.0
"""Seconds to wait for the daemon (decision: its first scan of a large project takes less)."""
_POLL_S = 0.1
"""Seconds between two looks at its scan."""


@dataclass(frozen=True, kw_only=True)
class HubObserver:
    """Observer of the opening of a Hub: `note` gets messages, `progress` shows the indexing."""

    note: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[Progress]]


@dataclass(frozen=True, kw_only=True)
class OpenedHub:
    """A client that answers names relative to `folder`, and the paths of the Hub."""

    client: HubClient
    places: HubPaths
    folder: Path


@contextmanager
def open_hub(
    invocation: Invocation, target: HubTarget, observer: HubObserver
) -> Iterator[OpenedHub]:
    """Open the project's Hub. If there is neither a daemon nor an index, build the index first.

    Raises ConfigError if the configuration is invalid. A failure to build the index is only noted,
    because files can be read without it.
    """
    places = hub_paths_of(invocation, target)
    files = cache(partial(_file_rules, invocation, places))
    if control.running(places) is not None:
        _wait_for_daemon(observer, places)
    else:
        files()  # an invalid configuration is an error; a daemon has read it already
        _make_index(observer, invocation, target, places)
    tune_gc()
    client = HubClient(
        places.root,
        socket_path=target.socket,
        places=places,
        deadline=_TIMEOUT_S,
        files=files,
        keep_connections=True,
    )
    with closing(client):
        yield OpenedHub(client=client, places=places, folder=invocation.folder)


def _file_rules(invocation: Invocation, places: HubPaths) -> FileRules:
    if not is_configured(invocation, places.root):
        return FileRules()
    config = open_config(invocation, places.root)
    return FileRules(config.exclude, config.hub.file_limit)


def _wait_for_daemon(observer: HubObserver, places: HubPaths) -> None:
    """Wait for the daemon's initial scan, because reading all files in this process is slower."""
    if control.has_scanned(places):
        return
    observer.note("waiting for the daemon's initial scan")
    until = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < until and not control.has_scanned(places):
        time.sleep(_POLL_S)


def _make_index(
    observer: HubObserver, invocation: Invocation, target: HubTarget, places: HubPaths
) -> None:
    """Build the index if it is missing, damaged, interrupted or from an earlier version."""
    from remora.hub.store.reader import read_snapshot  # imports the database code
    from remora.usecases.hub.index import index_hub, is_indexed  # imports the analysis

    if is_indexed(invocation, places):
        return
    is_damaged = places.db.exists() and read_snapshot(places.db, lambda _: True) is None
    lacks = "the index is not complete" if places.db.exists() else "there is no index yet"
    lacks = "the index cannot be read" if is_damaged else lacks
    observer.note(f"{lacks}: building it; `remora hub start` keeps it up to date")
    try:
        with observer.progress() as progress:
            index_hub(invocation, target, progress)
    except OutsideError as error:  # the requested file can still be read
        observer.note(f"{error.message}: continuing without an index")


class SharedHub:
    """The Hub of a project, for the questions of one event loop.

    `note` gets messages such as that the index is being built.
    """

    def __init__(self, invocation: Invocation, note: Callable[[str], None]) -> None:
        self._invocation = invocation
        self._observer = HubObserver(
            note=note, progress=lambda: nullcontext(lambda _done, _total: None)
        )
        self._open = ExitStack()
        self._opening: asyncio.Future[OpenedHub] | None = None

    async def opened(self) -> OpenedHub:
        """Return the Hub. A question that is cancelled does not stop the opening for others.

        Raises ConfigError if the configuration is invalid.
        """
        if self._opening is None or _has_failed(self._opening):
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
        facts = await hub.client.get_context([key])
        if not facts:
            meant = await hub.client.find(name, folder=hub.folder)
            facts = await hub.client.get_context([meant.key])
            if not facts:  # it was removed since
                raise unknown_node(meant.key, ())
        return facts

    def close(self) -> None:
        self._open.close()


def _has_failed(opening: asyncio.Future[OpenedHub]) -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)
