"""A few threads that wait for the disk, so that many files are made safe side by side."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports logging; whoever only reads needs neither
    from concurrent.futures import ThreadPoolExecutor

_WIDTH = 4


class SyncPool:
    """Runs acts side by side, at most four at once. Threads begin when they are first needed."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Return when all have ended. Raises what the first of those that failed raised."""
        if len(acts) < 2:
            for act in acts:
                act()
            return
        from concurrent.futures import ThreadPoolExecutor, wait

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_WIDTH, "remora-sync")
        begun = [self._threads.submit(act) for act in acts]
        wait(begun)
        for done in begun:
            done.result()
