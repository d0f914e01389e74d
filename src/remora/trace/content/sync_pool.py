"""A few threads that wait for the disk, so that many files are made safe side by side."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

_WIDTH = 4


class SyncPool:
    """Runs acts side by side, at most four at once. Threads begin when they are first needed."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_WIDTH, "remora-sync")

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Return when all have ended. Raises what the first of those that failed raised."""
        if len(acts) < 2:
            for act in acts:
                act()
            return
        begun = [self._threads.submit(act) for act in acts]
        wait(begun)
        for done in begun:
            done.result()
