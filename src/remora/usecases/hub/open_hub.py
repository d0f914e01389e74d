"""Opens the Hub of a project for queries."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from remora.bootstrap.invocation import Invocation, is_configured, open_config
from remora.errors import OutsideError
from remora.hub.client import HubClient
from remora.hub.file_limits import FileRules
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.spawn import tune_gc
from remora.usecases.hub.target import HubTarget, hub_paths_of

_TIMEOUT_S = 120.0
_POLL_S = 0.1

Progress = Callable[[int, int], None]
"""Called with the number of files that were read, and the total."""


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
    """Build the index if it is missing, damaged or from an earlier version."""
    from remora.hub.store.reader import read_snapshot  # imports the database code
    from remora.usecases.hub.index import index_hub, is_indexed  # imports the analysis

    if is_indexed(invocation, places):
        return
    is_damaged = places.db.exists() and read_snapshot(places.db, lambda _: True) is None
    lacks = "the index cannot be read" if is_damaged else "there is no index yet"
    observer.note(f"{lacks}: building it; `remora hub start` keeps it up to date")
    try:
        with observer.progress() as progress:
            index_hub(invocation, target, progress)
    except OutsideError as error:  # the requested file can still be read
        observer.note(f"{error.message}: continuing without an index")
