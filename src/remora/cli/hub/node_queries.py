"""Hub queries for commands, with a long timeout."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import progress_bar
from remora.hub.client import HubClient
from remora.hub.lookup.not_found import unknown_node
from remora.hub.node import AnsweredNode
from remora.hub.process.hub_paths import HubPaths
from remora.hub.sources.node_lookup import FoundNode, answered
from remora.ids import split_node_key, unescape_path
from remora.usecases.hub.open_hub import HubObserver, open_hub
from remora.usecases.hub.target import HubTarget


@dataclass(frozen=True)
class HubQuery:
    """A synchronous Hub client for commands. Methods raise an error if there is no answer."""

    _client: HubClient
    _runner: asyncio.Runner
    _places: HubPaths
    _folder: Path
    """Relative paths in node names are relative to it."""

    def find(self, name: str) -> FoundNode:
        """Return the node called `name`. Raises whatever `HubClient.find` raises."""
        return self._runner.run(self._client.find(name, folder=self._folder))

    def node(self, key: str) -> AnsweredNode:
        """Return the facts about a node. Raises NotFound if it was removed after `find`."""
        found = self._runner.run(answered(self._client.get_context([key])))
        if key not in found:
            raise unknown_node(key, ())
        return found[key]

    def links(self, kind: str, key: str, depth: int) -> dict[str, Any]:
        """Return the `callers`, `callees` or `tests` of a node, in the format of the protocol."""
        return self._runner.run(answered(getattr(self._client, kind)(key, depth)))

    def with_coverage(self, answer: dict[str, Any], limit: int) -> dict[str, Any]:
        """Return an answer with at most `limit` tests, and their `total` if there are more.

        Tests that coverage saw run the node are added. If the project has a coverage file,
        `coverage` says what is known of it.
        """
        if (tests := answer["tests"]) is None:
            return answer
        from remora.hub.coverage_file import read_coverage  # imports the syntax of tests

        path = unescape_path(split_node_key(answer["node"])[0])
        if (found := read_coverage(self._places.root, [path])) is not None:
            known = {test["id"] for test in tests}
            seen = (test for test in found.tests.get(answer["node"], ()) if test not in known)
            tests = [*tests, *({"id": test, "tier": "covered"} for test in seen)]
            about = {"file": found.file, "day": found.day, "note": found.note}
            answer = {**answer, "coverage": about}
        cut = {"total": len(tests)} if len(tests) > limit else {}
        return {**answer, "tests": tests[:limit], **cut}

    def unknown_because(self) -> str:
        from remora.hub.link_progress import why_unknown  # imports the store

        return why_unknown(self._places)

    def constructor(self, key: str) -> str | None:
        """Return the key of a class's `__init__`, or None if the class does not have one."""
        return self._runner.run(self._client.constructor(key))

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """Return the result of a search, in the format of the protocol."""
        return self._runner.run(answered(self._client.search(query, limit)))


@contextmanager
def hub_query(options: Options, target: HubTarget) -> Iterator[HubQuery]:
    """Open the project's Hub. If there is neither a daemon nor an index, build the index first."""
    caller = invocation_of(options)
    progress = partial(progress_bar, options, "files")
    observer = HubObserver(note=partial(note, options), progress=progress)
    with open_hub(caller, target, observer) as hub, asyncio.Runner() as runner:
        yield HubQuery(hub.client, runner, hub.places, hub.folder)
