"""One act on behalf of several threads: who asks while it runs shares the next one."""

import threading
from collections.abc import Callable


class GroupCommit:
    """Calls `act`, never twice at once, and for all who wait at once only once.

    There is no timed window: an act begins as soon as the one before it has ended.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._change = threading.Condition()
        self._next = _Round()
        self._running = False

    def run(self) -> None:
        """Return when an act that began after this call has ended. Raises what that act raised."""
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
    """One act: whether it has ended, and what it raised."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: BaseException | None = None

    def outcome(self) -> None:
        if self.failure is not None:
            raise self.failure
