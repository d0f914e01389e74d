"""Threads in which answers are made: one that takes seconds keeps nobody else waiting.

The interpreter runs one of them at a time, but takes turns: the daemon's own thread goes on.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from remora.code.resolve import IndexedFiles
from remora.errors import DiskError
from remora.hub.answers import Answers
from remora.hub.daemon.newest_view import NewestView
from remora.hub.protocol import Refused
from remora.hub.store import StoreView

LANE = "remora-hub-lane"
"""What the names of the threads begin with."""
MOST = 4
LIMIT_S = 10.0
"""How long an answer is waited for; its thread goes on, and is not asked anything else meanwhile."""
_PATIENCE_S = 1.0
_T = TypeVar("_T")


class Lanes:
    """At most `MOST` threads, each with its own view of the database; made when they are needed."""

    def __init__(self, db: Path) -> None:
        self._db = db
        self._free: asyncio.LifoQueue[_Lane] = asyncio.LifoQueue()
        self._all: list[_Lane] = []

    async def ask(self, question: Callable[[Answers], _T]) -> _T:
        """What `question` gives for the newest state. Raises what it raises, and Refused where
        too many others are being answered."""
        lane = await self._lane()
        work = asyncio.get_running_loop().run_in_executor(lane.thread, lane.ask, question)
        # who asked may go: the lane is free only when its thread is
        work.add_done_callback(lambda done: self._freed(lane, done))
        done, _ = await asyncio.wait({work}, timeout=LIMIT_S)
        if not done:
            raise Refused("busy", f"the answer takes more than {LIMIT_S:.0f} s")
        return work.result()

    def close(self) -> None:
        """No thread begins anything more."""
        for lane in self._all:
            lane.thread.shutdown(wait=False, cancel_futures=True)

    def _freed(self, lane: "_Lane", done: "asyncio.Future[_T]") -> None:
        self._free.put_nowait(lane)
        if not done.cancelled():
            done.exception()  # whoever still waits is told; nobody else need be

    async def _lane(self) -> "_Lane":
        with suppress(asyncio.QueueEmpty):
            return self._free.get_nowait()
        if len(self._all) < MOST:
            self._all.append(_Lane(self._db))
            return self._all[-1]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._free.get()
        except TimeoutError:
            raise Refused("busy", "other questions take very long just now") from None


class _Lane:
    """One thread; all but `thread` is used by it alone."""

    def __init__(self, db: Path) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=LANE)
        self._newest = NewestView(db)
        self._files = IndexedFiles()
        self._answers: tuple[StoreView, int, Answers] | None = None

    def ask(self, question: Callable[[Answers], _T]) -> _T:
        try:
            view = self._newest.view()
            state = view, view.generation
            if self._answers is None or self._answers[:2] != state:
                self._answers = (*state, Answers(view, files=self._files))
            return question(self._answers[2])
        except DiskError:  # it may have been the view: the next question gets another one
            self._newest.close()
            self._answers = None
            raise
