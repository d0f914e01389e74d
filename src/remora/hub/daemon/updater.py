"""Keeps the store as the files are: what the watcher tells is read, in slices that delay nobody."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from os.path import lexists
from pathlib import Path

from remora.code.file_facts import FileFacts
from remora.errors import RemoraError
from remora.hub.daemon.analysis_pool import Laboratory
from remora.hub.daemon.change_queue import Pending
from remora.hub.file_read import Content, reading
from remora.hub.index.indexer import Indexer, Refreshed, read_directly
from remora.hub.node import UpdateSource
from remora.hub.watch.watcher_protocol import Watcher

DEFER_OVER = 64 * 1024
"""Bytes of a file that the child process reads: what would take longer than a slice."""
_SLICE_S = 0.04
_LONG_SLICE_S = 0.12  # a transaction for each few of a thousand files costs as much as these
_MOST_AT_ONCE = 512
_MANY = 64
"""Waiting files from which they are read in one pass each, down to the last, as when all are read
for the first time; scripts, which find the same, take twice as long."""
_TURNS = 8
"""Of the loop between two slices: what the child wrote, and what it is to read next, take several."""
_SETTLE_S = 0.02
_RETRY_S = 1.0
_CALM_S = 0.005
_TROUBLED_PATIENCE_S = 0.05
_log = logging.getLogger("remora.hub")


class Upkeep:
    """`tell` hears after each step of the generation, be it a new one or not, and of the keys whose
    facts changed."""

    def __init__(
        self,
        root: Path,
        indexer: Indexer,
        watcher: Watcher,
        laboratory: Laboratory,
        *,
        tell: Callable[[int, tuple[str, ...]], None],
    ) -> None:
        self.pending = Pending()
        self.watcher = watcher
        self.ready = False
        """Whether all files have been read once."""
        self.storing = asyncio.Lock()
        """Held by whoever writes the store; what a large file says is stored by another thread."""
        self.last_sweep: float | None = None
        """Seconds since 1970."""
        self._root = root
        self._indexer = indexer
        self._laboratory = laboratory
        self._tell = tell
        self._source: UpdateSource = "cold_start"
        self._count = 8
        self._many = False
        self._wake, self._moved, self._urgent = (asyncio.Event() for _ in range(3))
        self._away: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self._trouble = ""
        self.want_sweep()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not as it should be, in sentences."""
        return tuple(note for note in (self.watcher.note, self._trouble) if note)

    def see(self) -> None:
        """Take in everything that changed before now; nothing is read yet."""
        watcher = self.watcher
        # what inotify tells is complete when a change returns; others are asked to prove it
        settled = watcher.kind == "inotify" or watcher.settled(_SETTLE_S)
        seen = watcher.drain()
        self.pending.add(self._gone_first(seen.paths))
        if not (settled and seen.complete and watcher.healthy):
            self.pending.want_sweep()
        if self.pending:
            self._wake.set()

    def want_sweep(self) -> None:
        """Compare all files with what is stored, soon."""
        self.pending.want_sweep()
        self._wake.set()

    def invalidate(self, path: str) -> None:
        """Read a file again (raw path), whatever its stamp says."""
        self.pending.add([path])
        self._wake.set()

    async def caught_up(self, ticket: int, patience: float) -> bool:
        """Wait until all that was seen up to `ticket` is stored; False if that takes longer than
        `patience`, counted for what the child process does from when it began."""
        until = time.monotonic() + (_TROUBLED_PATIENCE_S if self._trouble else patience)
        while not self.pending.reached(ticket):
            self._urgent.set()
            since = self.pending.only_elsewhere_since(ticket)
            left = (until if since is None else min(until, since + patience)) - time.monotonic()
            if left <= 0:
                return False
            try:
                async with asyncio.timeout(left):
                    await self._moved.wait()
            except TimeoutError:
                continue
        return True

    async def work(self) -> None:
        """Read what changed, for ever."""
        while True:
            if not self.pending:
                self._first_pass_done()
                self._many = False
                self._wake.clear()
                await self._wake.wait()
                await self._calm()
            try:
                async with self.storing:
                    self._step()
                self._recovered()
            except Exception as error:  # noqa: BLE001 (whatever it is, others are to be answered)
                self._troubled(_told(error))
                self._has_moved()
                await asyncio.sleep(_RETRY_S)
            self._has_moved()
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    async def close(self) -> None:
        """End the child and let go of the watcher."""
        tasks = [task for _, task in self._away.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._laboratory.close()
        self.watcher.close()

    async def _calm(self) -> None:
        """A file is often emptied, then written: read once unless somebody waits."""
        self._urgent.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALM_S):
                await self._urgent.wait()

    def _gone_first(self, paths: Collection[str]) -> Collection[str]:
        """A node that moved is known again by what was removed before."""
        if len(paths) < 2:
            return paths
        return sorted(paths, key=lambda path: (lexists(self._root / path), path))

    def replace_watcher(self, watcher: Watcher) -> None:
        """From now on this one tells; what happened in between, a sweep does."""
        self.watcher.close()
        self.watcher = watcher
        self.want_sweep()

    def _step(self) -> None:
        """One slice of what is to be done."""
        if self.pending.sweep_wanted:
            self.last_sweep = time.time()
            look = self._indexer.look()
            self.pending.swept((*look.gone, *look.changed))
            return
        self._many |= len(self.pending) > _MANY
        taken = self.pending.first(self._count)
        began = time.perf_counter()
        try:
            done = self._indexer.refresh(
                taken,
                source=self._source,
                defer_over=DEFER_OVER,
                analyse=read_directly if self._many else None,
            )
        except BaseException as error:
            self._put_back(taken, error)
            raise
        spent = max(time.perf_counter() - began, 1e-6)
        slice_s = _LONG_SLICE_S if self._many else _SLICE_S
        self._count = max(1, min(_MOST_AT_ONCE, int(len(taken) * slice_s / spent)))
        for path in done.deferred:
            self._send_away(path, taken[path])
        self._done(done)

    def _put_back(self, taken: dict[str, int], error: BaseException) -> None:
        """A file that nobody can read is left alone until it changes, and stops no other."""
        if isinstance(error, RemoraError | OSError) or len(taken) > 1:
            self.pending.put_back(taken)
        self._count = 1

    def _send_away(self, path: str, number: int) -> None:
        try:
            with reading(self._root, self._indexer.file_limit) as reader:
                content = reader.read(path)
        except OSError:
            content = Content(b"", None, "gone")
        if content.skipped:  # or gone again: that is found out here
            self.pending.put_back({path: number})
            return
        file_hash = content.file_hash
        known, before = self._away.get(path, ("", None))
        if known == file_hash:
            return
        if before is not None:
            before.cancel()
        errand = self.pending.send_away(path, number, time.monotonic())
        task = asyncio.get_running_loop().create_task(
            self._errand(path, content.data, number, errand)
        )
        self._away[path] = file_hash, task

    async def _errand(self, path: str, source: bytes, number: int, errand: int) -> None:
        facts = await self._laboratory.analyse(path, source)
        del self._away[path]
        try:
            async with self.storing:
                # a hundred thousand nodes are stored in seconds: not by the thread that answers
                self._done(await asyncio.to_thread(self._supply, path, facts))
        except (RemoraError, OSError) as error:
            self._troubled(str(error))
            self.pending.put_back({path: number})
            self._wake.set()
        self.pending.came_back(path, errand)
        self._has_moved()

    def _supply(self, path: str, facts: FileFacts) -> Refreshed:
        return self._indexer.supply(path, facts.file_hash, facts, source=self._source)

    def _done(self, done: Refreshed) -> None:
        for error in done.errors:
            _log.info("%r: %s", error.path, error.detail)
        if done.rebuilt:
            _log.warning("the database was made anew: every file is read again")
            self.pending.nothing_is_known()
            self._wake.set()
        self._tell(done.generation, done.changed)

    def _has_moved(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _first_pass_done(self) -> None:
        if not self.ready:
            self.ready, self._source = True, "file_change"
            _log.info("every file has been read")

    def _troubled(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            _log.warning("%s", trouble)

    def _recovered(self) -> None:
        if self._trouble:
            _log.info("this is over: %s", self._trouble)
            self._trouble = ""


def _told(error: Exception) -> str:
    """For people; what is a bug goes to the log whole."""
    if isinstance(error, RemoraError | OSError):
        return str(error)
    _log.error("keeping up failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
