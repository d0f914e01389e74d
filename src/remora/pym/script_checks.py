"""Checks of many scripts, each of them once and all within a time limit."""

import time
from collections.abc import Callable
from pathlib import Path

from remora.errors import ScriptError
from remora.pym.run_outcome import script_error_at
from remora.pym.script import Script, examine

CHECK_LIMIT_S = 30.0
"""Time limit for checking all scripts of a command, in seconds. A check takes milliseconds, and is
stopped after a few seconds. Only many slow scripts together exceed this limit."""
_HINT = "`remora tools check FILE` checks a single script"

_CheckedScript = tuple[Script | None, list[ScriptError]]


class ScriptChecks:
    """Caches the results of `examine`.

    Once the time limit is reached, the remaining scripts get an error.
    """

    def __init__(
        self,
        seconds: float = CHECK_LIMIT_S,
        clock: Callable[[], float] = time.monotonic,
        *,
        built_in: bool = False,
    ) -> None:
        self.built_in = built_in
        """True if the scripts of built-in agents are checked, too, which tests of Remora do."""
        self._seconds = seconds
        self._clock = clock
        self._spent = 0.0
        self._slowest: tuple[float, str] = (0.0, "")
        self._results: dict[Path, _CheckedScript] = {}

    def examine(self, path: Path) -> _CheckedScript:
        """Return the script and its problems. The script is None if it cannot be run.

        Raises NotFound if the path is not a file that can be read.
        """
        if path not in self._results:
            if self._spent > self._seconds:
                return None, [self._out_of_time(path)]
            began = self._clock()
            self._results[path] = examine(path)
            took = self._clock() - began
            self._spent += took
            self._slowest = max(self._slowest, (took, "/".join(path.parts[-2:])))
        return self._results[path]

    def _out_of_time(self, path: Path) -> ScriptError:
        seconds, slowest = self._slowest
        message = (
            f"not checked, because other scripts took {self._spent:.0f} s (total limit "
            f"{self._seconds:g} s); the slowest is {slowest} ({seconds:.1f} s)"
        )
        error = script_error_at(path.name, "limit", message, 1)
        return ScriptError(error.message, kind=error.kind, line=1, hint=_HINT)
