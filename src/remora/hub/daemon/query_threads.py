"""Threads that compute answers, so that a slow answer does not delay other answers.

Only one thread runs at a time, but the interpreter switches between threads, so the daemon's main
thread is never blocked for long.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.errors import DiskError, NotFound, RemoraError
from remora.hub.protocol import Refused
from remora.hub.query.node_queries import AT_ONCE_S, NodeQueries
from remora.hub.store.ir_cache import IrCache
from remora.hub.store.reader import StoredSnapshot, open_snapshot

THREAD_NAME = "remora-hub-lane"
"""Prefix of the thread names."""
MAX_THREADS = 3
ANSWER_LIMIT_S = 10.0
"""Seconds to wait for an answer. Its thread then continues, and takes no other question."""
GIVE_UP_S = 20.0
"""Seconds after which a computation stops. Until then, an equal question shares it."""
_PATIENCE_S = 1.0
_TRIES = 3  # attempts at an answer; if files keep changing, the last attempt is returned as it is
# These limits determine how much memory the daemon uses in addition to its idle memory: on celery
# 150 MB in all. A quarter of them doubled the times of questions there (p95 of callers 362 ms).
_DECODED = 6 * 1024 * 1024  # encoded size in bytes of all decoded files in memory
_MAX_INDEX_RECORDS = 60_000  # records of all files with a cached index, for all threads together
_MAX_ANSWERS = 10_000  # intermediate results that each thread keeps
_T = TypeVar("_T")


class ReadFiles(NamedTuple):
    """Caches of decoded files, shared by all threads."""

    lowered: IrCache
    files: FileCache

    @classmethod
    def empty(cls) -> Self:
        return cls(IrCache(_DECODED), FileCache(_MAX_INDEX_RECORDS))


class _QueryThread(NamedTuple):
    """A thread and its queries, which no other thread uses."""

    executor: ThreadPoolExecutor
    queries: "NewestQueries"


class QueryThreads:
    """Pool of at most `MAX_THREADS` threads, started on demand.

    Each thread has its own database connection.
    """

    def __init__(self, root: Path, db: Path, read: ReadFiles) -> None:
        self._root, self._db = root, db
        self._read = read
        self._free: asyncio.LifoQueue[_QueryThread] = asyncio.LifoQueue()
        self._threads: list[_QueryThread] = []
        self._running: dict[Hashable, asyncio.Future[Any]] = {}

    async def ask(self, question: Callable[[NodeQueries], _T], same: Hashable = None) -> _T:
        """Return the result of `question` for the latest state.

        Questions for which `same` is equal share one computation. Raises whatever `question`
        raises. Raises Refused if the answer takes too long or if too many other questions are being
        answered.
        """
        work: asyncio.Future[_T] = self._running.get(same) or await self._begin(question, same)
        done, _ = await asyncio.wait({work}, timeout=ANSWER_LIMIT_S)
        if not done:
            raise Refused("busy", f"the query takes longer than {ANSWER_LIMIT_S:.0f} s")
        return work.result()

    def close(self) -> None:
        """Close each thread's database after its work, which is not stopped."""
        for thread in self._threads:
            thread.executor.submit(thread.queries.close)
            thread.executor.shutdown(wait=False)

    async def _begin(
        self, question: Callable[[NodeQueries], _T], same: Hashable
    ) -> "asyncio.Future[_T]":
        thread = await self._free_thread()
        if same in self._running:  # started by another request that also waited for a thread
            self._free.put_nowait(thread)
            return self._running[same]
        work = asyncio.get_running_loop().run_in_executor(
            thread.executor, thread.queries.ask, question
        )
        if same is not None:
            self._running[same] = work
            work.add_done_callback(lambda _: self._running.pop(same))
        # even if the client disconnects, the thread is free only when its work ends
        work.add_done_callback(lambda done: self._free_thread_after(thread, done))
        return work

    def _free_thread_after(self, thread: "_QueryThread", done: "asyncio.Future[_T]") -> None:
        self._free.put_nowait(thread)
        if not done.cancelled():
            done.exception()  # retrieved here, so that asyncio does not log it

    async def _free_thread(self) -> "_QueryThread":
        with suppress(asyncio.QueueEmpty):
            return self._free.get_nowait()
        if len(self._threads) < MAX_THREADS:
            executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=THREAD_NAME)
            self._threads.append(
                _QueryThread(executor, NewestQueries(self._root, self._db, self._read))
            )
            return self._threads[-1]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._free.get()
        except TimeoutError:
            raise Refused("busy", "too many slow requests at the moment") from None


class _TornError(Exception):
    """Raised if an answer cannot be computed because the database changed in the meantime."""


class NewestQueries:
    """Queries on the latest stored state. Each instance may be used by one thread only."""

    def __init__(self, root: Path, db: Path, read: ReadFiles) -> None:
        self._root, self._db = root, db
        self._read = read
        self._view: StoredSnapshot | None = None
        self._place = (0, 0)
        self._answers: NodeQueries | None = None

    def ask(self, question: Callable[[NodeQueries], _T]) -> _T:
        """Return the result of `question`. Retry if the state changes during the computation.

        Raises whatever `question` raises. Raises Refused if the computation takes too long or the
        state keeps changing.
        """
        until = time.monotonic() + GIVE_UP_S
        try:
            for _ in range(_TRIES - 1):
                with suppress(_TornError):
                    found, consistent = self._answer_consistently(question, until)
                    if consistent:
                        return found
            return self._answer_consistently(question, until)[0]
        except (Refused, NotFound):
            raise
        except _TornError:
            raise Refused("busy", "files keep changing") from None
        except Exception as error:
            self.close()  # the view or its links may be incomplete
            if isinstance(error, OutOfTimeError):
                message = f"the query takes longer than {GIVE_UP_S:.0f} s"
                raise Refused("busy", message) from None
            raise

    def _answer_consistently(
        self, question: Callable[[NodeQueries], _T], until: float
    ) -> tuple[_T, bool]:
        """Return the result of `question`, and whether the result is based on a single state.

        Raises _TornError if the question failed because the state changed. Numbers that refer to
        one version of a file are invalid in another version.
        """
        answers = self._newest_queries(until)
        try:
            found = question(answers)
        except (RemoraError, Refused, OutOfTimeError):
            raise
        except Exception as error:
            if answers.generation != answers.view.generation:
                raise _TornError from error
            raise
        return found, answers.generation == answers.view.generation

    def _newest_queries(self, until: float) -> NodeQueries:
        view, answers = self._newest_view(until), self._answers
        if answers is None or answers.view is not view or answers.generation != view.generation:
            answers = self._answers = NodeQueries(
                view,
                root=self._root,
                files=self._read.files,
                most=_MAX_ANSWERS,
                search_s=AT_ONCE_S,
            )
        return answers

    def _newest_view(self, until: float) -> StoredSnapshot:
        """Return a snapshot of the current file, with `until` as its deadline.

        Raises DiskError if the file is missing or cannot be read.
        """
        try:
            found = self._db.stat()
        except OSError as error:
            raise DiskError(f"{self._db}: {error.strerror}") from error
        if self._view is None or self._place != (found.st_dev, found.st_ino):
            self.close()
            self._view = open_snapshot(self._db, self._read.lowered)
            self._place = found.st_dev, found.st_ino
        if self._view is None:
            raise DiskError(f"{self._db} cannot be read")
        self._view.deadline = until
        return self._view

    def close(self) -> None:
        """Close the database. The next question opens it again."""
        if self._view is not None:
            self._view.close()
        self._view = self._answers = None
