"""The scripts of one command looked at: each file once, and all of them in bounded time."""

import time
from collections.abc import Callable
from pathlib import Path

from remora.errors import ScriptError
from remora.pym.run_outcome import script_error_at
from remora.pym.script import Script, examine

CHECK_LIMIT_S = 30.0
"""Seconds for all scripts of a command. Checking one takes milliseconds, and one that is made to
take long is given up after some seconds; only many of those are too many."""
_HINT = "`remora tools check FILE` checks one script alone"

CheckResult = tuple[Script | None, list[ScriptError]]


class ScriptChecks:
    """What `examine` says of each file, until the time is up: then, why it was not looked at."""

    def __init__(
        self, seconds: float = CHECK_LIMIT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._spent = 0.0
        self._slowest: tuple[float, str] = (0.0, "")
        self._known: dict[Path, CheckResult] = {}

    def examine(self, path: Path) -> CheckResult:
        """The script, null if it can't be run, and all that is wrong. Raises NotFound."""
        if path not in self._known:
            if self._spent > self._seconds:
                return None, [self._too_late(path)]
            began = self._clock()
            self._known[path] = examine(path)
            took = self._clock() - began
            self._spent += took
            self._slowest = max(self._slowest, (took, "/".join(path.parts[-2:])))
        return self._known[path]

    def _too_late(self, path: Path) -> ScriptError:
        seconds, slowest = self._slowest
        message = (
            f"not checked: the scripts before it took {self._spent:.0f} seconds, and all may take "
            f"{self._seconds:g}; the slowest is {slowest} ({seconds:.1f} s)"
        )
        error = script_error_at(path.name, "limit", message, 1)
        return ScriptError(error.message, kind=error.kind, line=1, hint=_HINT)
