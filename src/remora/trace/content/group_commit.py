"""Group commit, which lets threads that wait for the same action share one call."""

import threading
from collections.abc import Callable


class GroupCommit:
    """Calls `act` once for all waiting threads.

    Calls never overlap. No call is delayed to wait for more threads.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._change = threading.Condition()
        self._next = _Round()
        self._running = False

    def run(self) -> None:
        """Wait for a call of `act` that starts after this method was called.

        Raises whatever `act` raises in that call.
        """
        with self._change:
            mine = self._next
            while self._running and not mine.ended:
                self._change.wait()
            if not mine.ended:
                self._next, self._running = _Round(), True
        if not mine.ended:
            self._run_round(mine)
        elif mine.failure is not None:
            raise mine.failure

    def _run_round(self, mine: "_Round") -> None:
        try:
            self._act()
        except BaseException as error:
            mine.failure = error
            raise
        finally:
            with self._change:
                mine.ended, self._running = True, False
                self._change.notify_all()


class _Round:
    """State of one call of `act`, including any exception it raised."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: BaseException | None = None
