"""Whom a change reaches beyond the nodes it changed: their callers and their tests."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remora.errors import ScriptError
from remora.hub.actions import workers
from remora.hub.answers import Answers
from remora.hub.rules import FindCallers, FindTests, UpdateAction
from remora.ids import node_key, spell_path

MOST_REACHED = 200
MOST_ASKED = 30
"""Nodes asked about for one change; a larger one reaches nearly everything."""
_log = logging.getLogger("remora.hub")


def reached(actions: Iterable[UpdateAction], now: Answers) -> tuple[str, ...]:
    """Keys of the nodes to which `FindCallers` and `FindTests` lead, sorted; all of them are there.

    `now` answers about the state after the change: what called a node that is gone calls nothing
    any more, and is not found.
    """
    found: set[str] = set()
    for action in actions:
        try:
            if isinstance(action, FindCallers):
                found.update(_callers(action, now))
            elif isinstance(action, FindTests):
                found.update(_tests(action, now))
        except ScriptError as failed:
            _log.error("%s", failed.message)
    return tuple(sorted(found))


def _callers(action: FindCallers, now: Answers) -> tuple[str, ...]:
    def callers(nodes: list[str]) -> list[list[str]]:
        return [[link["key"], link["tier"]] for link in _links(now.callers, "callers", nodes, now)]

    return workers.find_callers(action.nodes[:MOST_ASKED], MOST_REACHED, {"callers": callers})


def _tests(action: FindTests, now: Answers) -> Iterator[str]:
    def tests(nodes: list[str]) -> list[list[str]]:
        return [
            [_key_of(link["id"]), link["tier"]] for link in _links(now.tests, "tests", nodes, now)
        ]

    found = workers.find_tests(action.nodes[:MOST_ASKED], MOST_REACHED, {"tests": tests})
    return (key for key in found if now.view.node(key) is not None)


def _links(
    ask: Callable[[str], dict[str, Any]], name: str, nodes: Iterable[str], now: Answers
) -> Iterator[dict[str, Any]]:
    for key in nodes:
        if now.view.node(key) is not None:
            yield from ask(key)[name] or ()


def _key_of(test: str) -> str:
    """The node of a pytest id: `a.py::TestB::test_c[1]` is `node:a.py:TestB.test_c`."""
    path, *names = test.partition("[")[0].split("::")
    return node_key(spell_path(path), ".".join(names))
