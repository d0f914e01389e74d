"""Nodes that are affected by a change elsewhere, namely callers and tests."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remora.errors import ScriptError
from remora.hub.index import script_runner
from remora.hub.query.queries import NodeQueries
from remora.hub.update_rules import FindCallers, FindTests, UpdateAction
from remora.ids import escape_path, node_key

MAX_SEARCHED = 30
"""Maximum changed nodes to search from. A larger change affects nearly everything anyway."""
PATIENCE_S = 0.05
"""Time limit in seconds, because other requests wait. Later results are dropped."""
_log = logging.getLogger("remora.hub")


def affected_nodes(actions: Iterable[UpdateAction], now: NodeQueries) -> tuple[str, ...]:
    """Return the sorted keys that the `FindCallers` and `FindTests` actions find in `now`."""
    search = _Search(now)
    found: set[str] = set()
    for action in actions:
        try:
            if isinstance(action, FindCallers):
                found.update(search.callers(action))
            elif isinstance(action, FindTests):
                found.update(search.tests(action))
        except ScriptError as failed:
            _log.error("%s", failed.message)
    return tuple(sorted(found))


class _Search:
    """Host functions for the scripts, with a time limit."""

    def __init__(self, now: NodeQueries) -> None:
        self._now = now
        self._until = time.monotonic() + PATIENCE_S

    def callers(self, action: FindCallers) -> tuple[str, ...]:

        def callers(nodes: list[str]) -> list[list[str]]:
            found = self._links(self._now.callers, "callers", nodes)
            return [[link["key"], link["tier"]] for link in found]

        return script_runner.find_callers(action.nodes[:MAX_SEARCHED], {"callers": callers})

    def tests(self, action: FindTests) -> tuple[str, ...]:

        def tests(nodes: list[str]) -> list[list[str]]:
            found = self._links(self._now.tests, "tests", nodes)
            return [[_key_of(link["id"]), link["tier"]] for link in found]

        keys = script_runner.find_tests(action.nodes[:MAX_SEARCHED], {"tests": tests})
        return tuple(key for key in keys if self._now.view.node(key) is not None)

    def _links(
        self, ask: Callable[[str], dict[str, Any]], name: str, nodes: Iterable[str]
    ) -> Iterator[dict[str, Any]]:
        for key in nodes:
            if time.monotonic() > self._until:
                return
            if self._now.view.node(key) is not None:
                yield from ask(key)[name] or ()


def _key_of(test: str) -> str:
    """Return the node key for a pytest id: `a.py::B::test_c[1]` gives `node:a.py:B.test_c`."""
    path, *names = test.partition("[")[0].split("::")
    return node_key(escape_path(path), ".".join(names))
