"""Thread pool that syncs several files at the same time."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports logging; whoever only reads needs neither
    from concurrent.futures import ThreadPoolExecutor

_WIDTH = 4


class SyncPool:
    """Runs at most four actions at once. Threads are started on first use."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Return when all actions have ended. Raises what the first failed one raised."""
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
