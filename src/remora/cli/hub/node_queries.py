"""Hub queries for commands, with a long timeout."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from remora.bootstrap.hub.target import HubTarget, hub_paths_of
from remora.bootstrap.invocation import Invocation, is_configured, open_config
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.hub.docstring_summary import docstring_summary
from remora.cli.hub.hub_options import note_root_above
from remora.errors import OutsideError
from remora.hub.client import HubClient
from remora.hub.file_limits import FileRules
from remora.hub.lookup.find import FoundNode, no_answer_error
from remora.hub.lookup.not_found import unknown_node
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.protocol import AnsweredNode
from remora.hub.python_gc import tune_gc

_TIMEOUT_S = 120.0
_POLL_S = 0.1
_Result = TypeVar("_Result")


class HubQuery:
    """A synchronous Hub client for commands. Methods raise an error if there is no answer."""

    def __init__(
        self, client: HubClient, runner: asyncio.Runner, places: HubPaths, folder: Path
    ) -> None:
        """Create the client. Relative paths in node names are relative to `folder`."""
        self._client = client
        self._runner = runner
        self._places = places
        self._folder = folder

    def find(self, name: str) -> FoundNode:
        """Return the node called `name`. Raises whatever `HubClient.find` raises."""
        return self._runner.run(self._client.find(name, folder=self._folder))

    def node(self, key: str) -> AnsweredNode:
        """Return the facts about a node. Raises NotFound if it was removed after `find`."""
        found = self._answered(self._client.get_context([key]))
        if key not in found:
            raise unknown_node(key, ())
        return found[key]

    def links(self, kind: str, key: str, depth: int) -> dict[str, Any]:
        """Return the `callers`, `callees` or `tests` of a node, in the format of the protocol."""
        return self._answered(getattr(self._client, kind)(key, depth))

    def unknown_because(self) -> str:
        from remora.hub.link_progress import why_unknown  # imports the store

        return why_unknown(self._places)

    def constructor(self, key: str) -> str | None:
        """Return the key of a class's `__init__`, or None if the class does not have one."""
        return self._runner.run(self._client.constructor(key))

    def summary(self, node: AnsweredNode) -> str:
        """Return the first paragraph of a node's docstring, or an empty string."""
        return docstring_summary(self._places.root, node)

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """Return the result of a search, in the format of the protocol."""
        return self._answered(self._client.search(query, limit))

    def _answered(self, asked: Coroutine[Any, Any, _Result | None]) -> _Result:
        answer = self._runner.run(asked)
        if answer is None:
            raise no_answer_error()
        return answer


@contextmanager
def hub_query(options: Options, *, socket: Path | None, db: Path | None) -> Iterator[HubQuery]:
    """Open the project's Hub. If there is neither a daemon nor an index, build the index first."""
    caller, target = invocation_of(options), HubTarget(db=db, socket=socket)
    places = hub_paths_of(caller, target)
    note_root_above(options, caller, places)
    files = cache(partial(_file_rules, caller, places))
    if control.running(places) is not None:
        _wait_for_daemon(options, places)
    else:
        files()  # an invalid configuration is an error; a daemon has read it already
        _make_index(options, caller, target, places)
    tune_gc()
    with asyncio.Runner() as runner:
        client = HubClient(
            places.root, socket=places.socket, db=places.db, deadline=_TIMEOUT_S, files=files
        )
        try:
            yield HubQuery(client, runner, places, caller.folder)
        finally:
            client.close()


def _file_rules(invocation: Invocation, places: HubPaths) -> FileRules:
    if not is_configured(invocation, places.root):
        return FileRules()
    config = open_config(invocation, places.root)
    return FileRules(config.exclude, config.hub.file_limit)


def _wait_for_daemon(options: Options, places: HubPaths) -> None:
    """Wait for the daemon's initial scan, because reading all files in this process is slower."""
    if control.has_scanned(places):
        return
    note(options, "waiting for the daemon's initial scan")
    until = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < until and not control.has_scanned(places):
        time.sleep(_POLL_S)


def _make_index(
    options: Options, invocation: Invocation, target: HubTarget, places: HubPaths
) -> None:
    """Build the index if it is missing, damaged or from an earlier version."""
    from remora.bootstrap.hub.index import (  # imports the analysis
        index_hub,
        is_indexed,
        is_readable,
    )
    from remora.cli.hub.index import progress_bar

    if is_indexed(invocation, places):
        return
    is_damaged = places.db.exists() and not is_readable(places)
    lacks = "the index cannot be read" if is_damaged else "there is no index yet"
    note(options, f"{lacks}: building it; `remora hub start` keeps it up to date")
    try:
        with progress_bar(options) as progress:
            index_hub(invocation, target, progress)
    except OutsideError as error:  # the requested file can still be read
        note(options, f"{error.message}: continuing without an index")
