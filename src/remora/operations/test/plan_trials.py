"""Trial calls at planning, so that only functions with a usable result get a job."""

import time
from collections import Counter
from collections.abc import Callable

from remora.code.syntax.nodes import Node
from remora.errors import HostError
from remora.operations.test.host_probe import ProjectTexts, plan_missing
from remora.operations.test.runner.collection_check import collection_problem, require_collection
from remora.tools.tree import ToolTree

NEEDS_VALUES = "whose calls need values that only a writer knows"
SHOWS_NOTHING = "whose tried calls show nothing that a test can assert"
NOT_IMPORTED = "of modules that cannot be imported"
NOT_COLLECTED = "whose test file pytest cannot collect"
LIKE_OTHERS = "of modules in which no tried function has a usable call"
_MOST_TRIED = 40
_MOST_OF_MODULE = 8
"""Numbers of functions that are tried. A trial takes about half a second on an idle machine."""
_ALL_S = 60.0
_FUNCTION_S = 30.0
"""Seconds after which no other function is tried, and limit of one trial, on a busy machine."""


class PlanTrials:
    """Tries functions like their job does, until one of each module has a test.

    Nothing is recorded, so the job repeats the trial. After many trials, the functions of other
    modules count as possible, and so do all functions if the project's code may not run.
    """

    def __init__(
        self, place: ToolTree, texts: Callable[[], ProjectTexts], notify: Callable[[str], None]
    ) -> None:
        self._place = place
        self._texts = texts
        self._notify = notify
        self._tried = Counter[str]()
        self._seconds = 0.0
        self._open: set[str] = set()
        self._collected: dict[str, str] = {}

    def reason(self, node: Node, home: str) -> str:
        """Return why no test can be proposed, or an empty string. `home` is the test file's path."""
        if self._place.python is None or node.path in self._open:
            return ""
        if self._tried[node.path] >= _MOST_OF_MODULE:
            return LIKE_OTHERS
        if self._tried.total() >= _MOST_TRIED or self._seconds >= _ALL_S:
            return ""
        if not self._tried:
            self._notify(f"trying calls of untested functions (at most {_MOST_TRIED})")
        self._tried[node.path] += 1
        start = time.monotonic()
        try:
            with self._place.within(_FUNCTION_S):
                return self._trial(node, home)
        except HostError:
            return ""  # the job reports it
        finally:
            self._seconds += time.monotonic() - start

    def _trial(self, node: Node, home: str) -> str:
        texts = self._texts()
        if home in texts.tests:
            if home not in self._collected:
                self._collected[home] = collection_problem(self._place, home)
            if self._collected[home]:
                self._require_tests()
                return NOT_COLLECTED
        plan = plan_missing(self._place, node.path, node.qualname, texts)
        if plan["state"] == "open":
            self._open.add(node.path)
            return ""
        if plan["reason"].startswith("import of "):
            return NOT_IMPORTED
        return NEEDS_VALUES if "needs a writer" in plan["reason"] else SHOWS_NOTHING

    def _require_tests(self) -> None:
        """Try nothing more if pytest collects none of the tests, since the run ends with its error."""
        try:
            require_collection(self._place)
        except HostError:
            self._seconds = _ALL_S
            raise
