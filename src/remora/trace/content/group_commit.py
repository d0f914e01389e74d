"""Group commit: threads waiting for the same action share one call."""

import threading
from collections.abc import Callable


class GroupCommit:
    """Calls `act` once for all waiting threads.

    Calls never overlap, and no call is delayed to collect more threads.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._change = threading.Condition()
        self._next = _Round()
        self._running = False

    def run(self) -> None:
        """Wait for a call of `act` that starts after this method was called. Raises whatever that
        call raises."""
        with self._change:
            mine = self._next
            while self._running and not mine.ended:
                self._change.wait()
            if not mine.ended:
                self._next, self._running = _Round(), True
        if mine.ended:
            mine.outcome()
        else:
            self._run_round(mine)

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
    """A call of `act`, with its completion and the exception that it raised, if any."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: BaseException | None = None

    def outcome(self) -> None:
        if self.failure is not None:
            raise self.failure
