"""Thread pool that syncs several files at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

_WIDTH = 4


class SyncPool:
    """Runs at most four actions at once. Threads are started on first use."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_WIDTH, "remora-sync")

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Return when all actions have ended. Raises what the first failed one raised."""
        if len(acts) < 2:
            for act in acts:
                act()
            return
        begun = [self._threads.submit(act) for act in acts]
        wait(begun)
        for done in begun:
            done.result()
