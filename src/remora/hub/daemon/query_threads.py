"""Threads in which answers are made: one that takes seconds keeps nobody else waiting.

The interpreter runs one of them at a time, but takes turns: the daemon's own thread goes on.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from remora.code.callgraph.files.file_cache import FileCache
from remora.errors import NotFound, RemoraError
from remora.hub.daemon.view_cache import NewestView
from remora.hub.protocol import Refused
from remora.hub.query.queries import Answers
from remora.hub.query.snapshots import OutOfTimeError
from remora.hub.store.ir_cache import LoweredCache
from remora.hub.store.reader import StoreView

LANE = "remora-hub-lane"
"""What the names of the threads begin with."""
MOST = 3
LIMIT_S = 10.0
"""How long an answer is waited for; its thread goes on, and is not asked anything else meanwhile."""
GIVEN_UP_S = 20.0
"""How long it goes on at most: who asks the same again meanwhile waits for the same answer."""
_PATIENCE_S = 1.0
_TRIES = 3
"""Of an answer; while somebody writes file after file the last one is told as it is."""
# All of it together decides how much the daemon holds beside what it needs at rest: on the standard
# library that is 110 MB of 250. With more room a first question takes half as long there.
_DECODED = 3 * 512 * 1024
"""Encoded bytes of files that are held decoded, for all threads."""
_ROOM = 30_000
"""Records of files whose indexes are held, for all threads."""
_MOST_ANSWERS = 10_000
"""What each thread remembers of what lay behind the questions it answered."""
_T = TypeVar("_T")


class Read(NamedTuple):
    """What was read of files lately, for all threads: their memory is that of one."""

    lowered: LoweredCache
    files: FileCache

    @classmethod
    def nothing(cls) -> Self:
        """As much as it will hold, empty."""
        return cls(LoweredCache(_DECODED), FileCache(_ROOM))


class Lanes:
    """At most `MOST` threads, each with its own view of the database; made when they are needed."""

    def __init__(self, db: Path, read: Read) -> None:
        self._db = db
        self._read = read
        self._free: asyncio.LifoQueue[_Lane] = asyncio.LifoQueue()
        self._all: list[_Lane] = []
        self._going: dict[Hashable, asyncio.Future[Any]] = {}

    async def ask(self, question: Callable[[Answers], _T], same: Hashable = None) -> _T:
        """What `question` gives for the newest state. Raises what it raises, and Refused where
        too many others are being answered.

        Questions with an equal `same` are one, as long as it is being answered: it is begun once.
        """
        work: asyncio.Future[_T] = self._going.get(same) or await self._begun(question, same)
        done, _ = await asyncio.wait({work}, timeout=LIMIT_S)
        if not done:
            raise Refused("busy", f"the answer takes more than {LIMIT_S:.0f} s")
        return work.result()

    def close(self) -> None:
        """No thread begins anything more."""
        for lane in self._all:
            lane.thread.shutdown(wait=False, cancel_futures=True)

    async def _begun(
        self, question: Callable[[Answers], _T], same: Hashable
    ) -> "asyncio.Future[_T]":
        lane = await self._lane()
        if same in self._going:  # by somebody who waited for a lane as well
            self._free.put_nowait(lane)
            return self._going[same]
        work = asyncio.get_running_loop().run_in_executor(lane.thread, lane.answers.ask, question)
        if same is not None:
            self._going[same] = work
            work.add_done_callback(lambda _: self._going.pop(same))
        # who asked may go: the lane is free only when its thread is
        work.add_done_callback(lambda done: self._freed(lane, done))
        return work

    def _freed(self, lane: "_Lane", done: "asyncio.Future[_T]") -> None:
        self._free.put_nowait(lane)
        if not done.cancelled():
            done.exception()  # whoever still waits is told; nobody else need be

    async def _lane(self) -> "_Lane":
        with suppress(asyncio.QueueEmpty):
            return self._free.get_nowait()
        if len(self._all) < MOST:
            self._all.append(_Lane(self._db, self._read))
            return self._all[-1]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._free.get()
        except TimeoutError:
            raise Refused("busy", "other questions take very long just now") from None


class _TornError(Exception):
    """Something was stored while an answer was made, and what was made of two states failed."""


class NewestAnswers:
    """Answers about what is stored now, for one thread."""

    def __init__(self, db: Path, read: Read) -> None:
        self._newest = NewestView(db, read.lowered)
        self._files = read.files
        self._answers: Answers | None = None

    def ask(self, question: Callable[[Answers], _T]) -> _T:
        """What `question` gives; asked again where something was stored meanwhile: made of two
        states, it may be true in neither. Raises what it raises, and Refused where that takes far
        too long."""
        until = time.monotonic() + GIVEN_UP_S
        try:
            for _ in range(_TRIES - 1):
                with suppress(_TornError):
                    found, whole = self._made(question, until)
                    if whole:
                        return found
            return self._made(question, until)[0]
        except (Refused, NotFound):
            raise
        except _TornError:
            raise Refused("busy", "files change all the time just now") from None
        except OutOfTimeError:  # links that are half made; and others need the memory
            self.close()
            raise Refused("busy", f"the answer takes more than {GIVEN_UP_S:.0f} s") from None
        except Exception:  # the view, or links that are half made: the next question gets others
            self.close()
            raise

    def read(self, question: Callable[[Answers], _T]) -> _T:
        """The same, for what needs only be read."""
        with self._view(time.monotonic() + GIVEN_UP_S).one_moment():
            return self.ask(question)

    def _made(self, question: Callable[[Answers], _T], until: float) -> tuple[_T, bool]:
        """What `question` gives, and whether it is of one state. Raises _TornError where it fails
        and is not: what one file's numbers mean, another one's do not."""
        answers = self._of_newest(until)
        try:
            found = question(answers)
        except (RemoraError, Refused, OutOfTimeError):
            raise
        except Exception as error:
            if answers.generation != answers.view.generation:
                raise _TornError from error
            raise
        return found, answers.generation == answers.view.generation

    def _of_newest(self, until: float) -> Answers:
        view, answers = self._view(until), self._answers
        if answers is None or answers.view is not view or answers.generation != view.generation:
            answers = self._answers = Answers(view, files=self._files, most=_MOST_ANSWERS)
        return answers

    def _view(self, until: float) -> StoreView:
        """With the time that this question has: what is left of the last one's is no measure."""
        view = self._newest.view()
        view.deadline = until
        return view

    def close(self) -> None:
        """Let go of the database; the next question opens it again."""
        self._newest.close()
        self._answers = None


class _Lane:
    """One thread, and what is used by it alone."""

    def __init__(self, db: Path, read: Read) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=LANE)
        self.answers = NewestAnswers(db, read)
