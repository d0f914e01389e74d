"""Threads that compute answers, so that a slow one does not delay the others.

The interpreter runs one at a time but switches between them, so the daemon's own thread continues.
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
from remora.hub.query.queries import NodeQueries
from remora.hub.query.snapshots import OutOfTimeError
from remora.hub.store.ir_cache import IrCache
from remora.hub.store.reader import StoredSnapshot

THREAD_NAME = "remora-hub-lane"
"""Prefix of the names of the threads."""
MAX_THREADS = 3
ANSWER_LIMIT_S = 10.0
"""Seconds to wait for an answer; its thread continues and takes no other question meanwhile."""
GIVEN_UP_S = 20.0
"""Seconds after which it stops; the same question asked meanwhile gets the same answer."""
_PATIENCE_S = 1.0
_TRIES = 3
"""Attempts at an answer; while files keep changing, the last one is given as it is."""
# All of it together decides how much the daemon holds beside what it needs at rest: on the standard
# library that is 110 MB of 250. With more room a first question takes half as long there.
_DECODED = 3 * 512 * 1024
"""Encoded bytes of files that are held decoded, for all threads."""
_ROOM = 30_000
"""Records of files whose indexes are held, for all threads."""
_MOST_ANSWERS = 10_000
"""Intermediate results that each thread keeps."""
_T = TypeVar("_T")


class ReadFiles(NamedTuple):
    """Caches of decoded files, shared by all threads."""

    lowered: IrCache
    files: FileCache

    @classmethod
    def empty(cls) -> Self:
        """Return empty caches."""
        return cls(IrCache(_DECODED), FileCache(_ROOM))


class QueryThreads:
    """At most `MAX_THREADS` threads, each with its own database connection, started on demand."""

    def __init__(self, db: Path, read: ReadFiles) -> None:
        self._db = db
        self._read = read
        self._free: asyncio.LifoQueue[_QueryThread] = asyncio.LifoQueue()
        self._all: list[_QueryThread] = []
        self._going: dict[Hashable, asyncio.Future[Any]] = {}

    async def ask(self, question: Callable[[NodeQueries], _T], same: Hashable = None) -> _T:
        """Return the result of `question` over the newest state.

        Questions with an equal `same` share one computation. Raises the errors of `question`, and
        Refused if too many others are being answered.
        """
        work: asyncio.Future[_T] = self._going.get(same) or await self._begun(question, same)
        done, _ = await asyncio.wait({work}, timeout=ANSWER_LIMIT_S)
        if not done:
            raise Refused("busy", f"the answer takes more than {ANSWER_LIMIT_S:.0f} s")
        return work.result()

    def close(self) -> None:
        """Start no further work."""
        for thread in self._all:
            thread.executor.shutdown(wait=False, cancel_futures=True)

    async def _begun(
        self, question: Callable[[NodeQueries], _T], same: Hashable
    ) -> "asyncio.Future[_T]":
        thread = await self._free_thread()
        if same in self._going:  # by another that waited for a thread as well
            self._free.put_nowait(thread)
            return self._going[same]
        work = asyncio.get_running_loop().run_in_executor(
            thread.executor, thread.queries.ask, question
        )
        if same is not None:
            self._going[same] = work
            work.add_done_callback(lambda _: self._going.pop(same))
        # the client may be gone: the thread is free only when its work ends
        work.add_done_callback(lambda done: self._freed(thread, done))
        return work

    def _freed(self, thread: "_QueryThread", done: "asyncio.Future[_T]") -> None:
        self._free.put_nowait(thread)
        if not done.cancelled():
            done.exception()  # retrieved here, so that asyncio does not log it

    async def _free_thread(self) -> "_QueryThread":
        with suppress(asyncio.QueueEmpty):
            return self._free.get_nowait()
        if len(self._all) < MAX_THREADS:
            self._all.append(_QueryThread(self._db, self._read))
            return self._all[-1]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._free.get()
        except TimeoutError:
            raise Refused("busy", "too many slow requests at the moment") from None


class _TornError(Exception):
    """The database changed while an answer was computed, and computing it failed."""


class NewestQueries:
    """Queries over the newest stored state, for one thread."""

    def __init__(self, db: Path, read: ReadFiles) -> None:
        self._newest = NewestView(db, read.lowered)
        self._files = read.files
        self._answers: NodeQueries | None = None

    def ask(self, question: Callable[[NodeQueries], _T]) -> _T:
        """Return the result of `question`, retried if the state changed meanwhile.

        Raises its errors, and Refused if that takes far too long.
        """
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
            raise Refused("busy", "files keep changing") from None
        except OutOfTimeError:  # links may be incomplete, and others need the memory
            self.close()
            raise Refused("busy", f"the answer takes more than {GIVEN_UP_S:.0f} s") from None
        except (
            Exception
        ):  # the view or its links may be incomplete: the next question gets new ones
            self.close()
            raise

    def read(self, question: Callable[[NodeQueries], _T]) -> _T:
        """Ask within one read transaction, for questions that only read."""
        with self._view(time.monotonic() + GIVEN_UP_S).one_moment():
            return self.ask(question)

    def _made(self, question: Callable[[NodeQueries], _T], until: float) -> tuple[_T, bool]:
        """Return the result of `question`, and True if it is of one state.

        Raises _TornError if it fails because the state changed: numbers of one file are invalid in
        another.
        """
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

    def _of_newest(self, until: float) -> NodeQueries:
        view, answers = self._view(until), self._answers
        if answers is None or answers.view is not view or answers.generation != view.generation:
            answers = self._answers = NodeQueries(view, files=self._files, most=_MOST_ANSWERS)
        return answers

    def _view(self, until: float) -> StoredSnapshot:
        """Return the newest snapshot, with the deadline of this question."""
        view = self._newest.view()
        view.deadline = until
        return view

    def close(self) -> None:
        """Close the database; the next question opens it again."""
        self._newest.close()
        self._answers = None


class _QueryThread:
    """One thread and what it alone uses."""

    def __init__(self, db: Path, read: ReadFiles) -> None:
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=THREAD_NAME)
        self.queries = NewestQueries(db, read)
