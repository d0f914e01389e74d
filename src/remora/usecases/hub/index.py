"""Updates the Hub's index through the running daemon, or in this process if there is no daemon."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.bootstrap.invocation import Invocation, open_config
from remora.errors import HubLocked, OutsideError
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.updater import DEFER_OVER
from remora.hub.file_reader import open_reader
from remora.hub.index.indexer import FileError, Indexer, Refreshed
from remora.hub.members.members import Members
from remora.hub.node import UpdateSource
from remora.hub.process import control
from remora.hub.process.control import ask
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.spawn import environment
from remora.hub.protocol import ChangedSince
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import read_snapshot
from remora.tools.host.ruff.newer_syntax import newer_syntax
from remora.usecases.hub.target import HubTarget, Progress, hub_paths_of

_AT_ONCE = 100
"""Files of a batch (decision: progress is shown after each)."""
_LOOK_S = 0.1
"""Seconds between two questions to a busy daemon."""
_ANSWER_S = 60.0
"""Seconds to wait for an answer of the daemon (decision: a scan may run)."""
_RefreshLarge = Callable[[str, UpdateSource], Refreshed]

_LOCKED_S = 10.0
"""Seconds to wait for another process that writes the database."""
_WRITER_LOOK_S = 0.05
"""Seconds between two attempts to open the database."""


class Indexed(NamedTuple):
    """The result of updating the index."""

    files: int
    nodes: int
    changed: int
    """The number of nodes whose facts changed."""
    errors: Sequence[FileError]
    seconds: float
    by: int | None = None
    """The process ID of the daemon that updated the index, or None if this process did."""


def index_hub(invocation: Invocation, target: HubTarget, progress: Progress) -> Indexed:
    """Index all changed files. Raises OutsideError, DiskError or HubLocked."""
    began = time.monotonic()
    places = hub_paths_of(invocation, target)
    writer = _open_when_free(places, lambda: control.running(places))
    if isinstance(writer, int):
        changed = _wait_for_daemon(places)
        status = control.status(places)
        files, nodes = status.files or 0, status.nodes or 0
        errors = _partly_read(places)
    else:
        with writer as store:
            changed, unreadable = _refresh(invocation, places, store, progress)
            files, nodes = store.counts()
        errors = {**_partly_read(places), **unreadable}
    errors |= newer_syntax(places.root, [*errors])
    listed = [FileError(path, errors[path]) for path in sorted(errors)]
    by = writer if isinstance(writer, int) else None
    return Indexed(files, nodes, changed, listed, time.monotonic() - began, by)


def is_indexed(invocation: Invocation, places: HubPaths) -> bool:
    """Return True if the database is readable, and lacks few of the project's files.

    It lacks many if an earlier command was interrupted while it read them.
    """
    stored = read_snapshot(places.db, lambda view: view.files().keys())
    if stored is None:
        return False
    new = _members(invocation, places).sweep().keys() - stored
    return len(new) <= (_AT_ONCE if stored else 0)


def _members(invocation: Invocation, places: HubPaths) -> Members:
    config = open_config(invocation, places.root)
    return Members(places.root, config.exclude, file_limit=config.hub.file_limit)


def _refresh(
    invocation: Invocation, places: HubPaths, store: HubStore, progress: Progress
) -> tuple[int, dict[str, str]]:
    indexer = Indexer(places.root, store, _members(invocation, places))
    changed: set[str] = set()
    errors: dict[str, str] = {}
    with _large_files(places.root, indexer, environment(invocation.environ)) as refresh_large:
        for done in _refresh_in_passes(indexer, refresh_large, store, progress):
            changed.update(done.changed)
            errors.update(done.errors)
    return len(changed), errors


def _refresh_in_passes(
    indexer: Indexer, refresh_large: _RefreshLarge, store: HubStore, progress: Progress
) -> Iterator[Refreshed]:
    """Refresh all changed files. Start again if the database was reset during the refresh."""
    rebuilt = True
    while rebuilt:
        rebuilt = False
        source: UpdateSource = "manual" if store.files() else "cold_start"
        look = indexer.look()
        paths = (*look.gone, *look.changed)
        for first in range(0, len(paths), _AT_ONCE):
            progress(first, len(paths))
            portion = paths[first : first + _AT_ONCE]
            done = indexer.refresh(portion, source=source, defer_over=DEFER_OVER)
            for part in (done, *(refresh_large(path, source) for path in done.deferred)):
                rebuilt = rebuilt or part.rebuilt
                yield part
        progress(len(paths), len(paths))


def _partly_read(places: HubPaths) -> dict[str, str]:
    """Return the reasons why files could only be read partially, keyed by raw path."""
    return read_snapshot(places.db, lambda view: view.partial()) or {}


def _wait_for_daemon(places: HubPaths) -> int:
    """Wait until the daemon has read all changes, and return the number of changed nodes.

    If the initial scan is still running, also wait for it to finish.
    """
    before = control.status(places).generation or 0
    while control.running(places) is not None:
        answer = ask(places, ChangedSince(generation=before), seconds=_ANSWER_S)
        if answer.ok:
            result: dict[str, Any] = msgspec.json.decode(answer.result)
            return len(result["changed"])
        if answer.error is None or answer.error.code != "busy":
            break
        time.sleep(_LOOK_S)
    raise OutsideError("the daemon did not update the index", hint=f"see {places.log}")


@contextmanager
def _large_files(
    root: Path, indexer: Indexer, environment: Mapping[str, str]
) -> Iterator[_RefreshLarge]:
    """Provide a function that analyzes a large file in a child process and stores the result.

    A file whose analysis needs too much memory is stored without nodes and reported. The child is
    stopped when the block exits.
    """
    pool = AnalysisPool(environment)

    def refresh(path: str, source: UpdateSource) -> Refreshed:
        try:
            with open_reader(root, indexer.file_limit) as reader:
                content = reader.read(path)
        except OSError:
            content = None
        if content is None or content.skipped:  # the file changed: find the reason
            return indexer.refresh([path], source=source)
        facts = runner.run(pool.analyze(path, content.data))
        return indexer.supply(path, content.file_hash, facts, source=source)

    with asyncio.Runner() as runner:
        try:
            yield refresh
        finally:
            runner.run(pool.close())


def store_when_free(places: HubPaths) -> HubStore:
    """Open the database for the daemon, after waiting for any command that is writing to it.

    Raises HubLocked after a timeout, and DiskError if the database cannot be opened.
    """
    found = _open_when_free(places, lambda: None)
    assert not isinstance(found, int)  # the callback never returns an id
    return found


def _open_when_free(places: HubPaths, daemon: Callable[[], int | None]) -> HubStore | int:
    """Open the database, or return the process ID of the daemon that writes to it.

    Waits for another command, or for a daemon that restarts after its lock was removed. Raises
    HubLocked after a timeout, and DiskError if the database cannot be opened.
    """
    until = time.monotonic() + _LOCKED_S
    while (found := daemon()) is None:
        try:
            return HubStore(places.db, root=places.root, clock=lambda: datetime.now(UTC))
        except HubLocked:
            if time.monotonic() > until:
                raise
        time.sleep(_WRITER_LOOK_S)
    return found
