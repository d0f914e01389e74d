"""Trial calls at planning, so that only functions with a usable result get a job."""

import time
from collections import defaultdict
from collections.abc import Callable

from remora.code.syntax.nodes import Node
from remora.errors import HostError
from remora.operations.test.host_probe import ProjectTexts, plan_missing
from remora.operations.test.runner.collection_check import collection_problem
from remora.tools.tree import ToolTree

NEEDS_VALUES = "whose calls need values that only a writer knows"
SHOWS_NOTHING = "whose tried calls show nothing that a test can assert"
NOT_IMPORTED = "of modules that cannot be imported"
NOT_COLLECTED = "whose test file pytest cannot collect"
_MODULE_S = 6.0
_ALL_S = 20.0
_FUNCTION_S = 10.0
"""Seconds after which no other function of a module or of the project is tried, and of one trial."""


class PlanTrials:
    """Tries functions like their job does, until one of each module has a test.

    Nothing is recorded, so the job repeats the trial. Functions for which there is no time count as
    possible, and so do all functions if the project's code may not run.
    """

    def __init__(
        self, place: ToolTree, texts: Callable[[], ProjectTexts], notify: Callable[[str], None]
    ) -> None:
        self._place = place
        self._texts = texts
        self._notify = notify
        self._seconds = defaultdict[str, float](float)
        self._open: set[str] = set()
        self._collected: dict[str, str] = {}

    def reason(self, node: Node, home: str) -> str:
        """Return why no test can be proposed, or an empty string. `home` is the test file's path."""
        used = self._seconds
        is_over = used[node.path] >= _MODULE_S or sum(used.values()) >= _ALL_S
        if self._place.python is None or node.path in self._open or is_over:
            return ""
        if not sum(used.values()):
            self._notify(f"trying calls of untested functions (at most {_ALL_S:.0f} s)")
        start = time.monotonic()
        try:
            with self._place.within(_FUNCTION_S):
                return self._tried(node, home)
        except HostError:
            return ""  # the job reports it
        finally:
            used[node.path] += time.monotonic() - start

    def _tried(self, node: Node, home: str) -> str:
        texts = self._texts()
        if home in texts.tests:
            if home not in self._collected:
                self._collected[home] = collection_problem(self._place, home)
            if self._collected[home]:
                return NOT_COLLECTED
        plan = plan_missing(self._place, node.path, node.qualname, texts)
        if plan["state"] == "open":
            self._open.add(node.path)
            return ""
        if plan["reason"].startswith("import of "):
            return NOT_IMPORTED
        return NEEDS_VALUES if "needs a writer" in plan["reason"] else SHOWS_NOTHING
