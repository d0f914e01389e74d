"""Group commit: threads that wait for the same action share one call of it."""

import threading
from collections.abc import Callable


class GroupCommit:
    """Calls `act` once for all threads that wait at the same time, and never twice at once. It
    uses no timed window: a call begins as soon as the one before it has ended."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._change = threading.Condition()
        self._next = _Round()
        self._running = False

    def run(self) -> None:
        """Return when a call that began after this one has ended. Raises what it raised."""
        with self._change:
            mine = self._next
            while self._running and not mine.ended:
                self._change.wait()
            if not mine.ended:
                self._next, self._running = _Round(), True
        if mine.ended:
            mine.outcome()
        else:
            self._lead(mine)

    def _lead(self, mine: "_Round") -> None:
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
    """One call: its end, and the exception it raised."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: BaseException | None = None

    def outcome(self) -> None:
        if self.failure is not None:
            raise self.failure
