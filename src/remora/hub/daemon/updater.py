"""Updater of the store. It reads changed files in short slices to keep requests fast."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from remora.errors import DiskError, RemoraError
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.change_queue import ChangeQueue
from remora.hub.daemon.health import release_memory
from remora.hub.file_reader import Content, open_reader
from remora.hub.index.indexer import Indexer, Refreshed
from remora.hub.node import UpdateSource
from remora.hub.watch.watcher import Watcher

DEFER_OVER = 64 * 1024
"""Size in bytes above which the child process analyses a file: it would exceed a slice."""
_SLICE_S = 0.04
_LONG_SLICE_S = 0.12  # for many files: short slices would spend half the time on transactions
_MAX_AT_ONCE = 512
_MANY = 64
"""Number of waiting files above which slices are longer."""
_TURNS = 8  # event loop turns between two slices; a message from the child takes several
_RETRY_S = 1.0
_CALM_S = 0.005
_TROUBLED_PATIENCE_S = 0.05
_log = logging.getLogger("remora.hub")


class Updater:
    """Updates the store in small steps.

    After each step, it calls `report` with what was stored.
    """

    def __init__(
        self,
        root: Path,
        indexer: Indexer,
        watcher: Watcher,
        analysis: AnalysisPool,
        *,
        report: Callable[[Refreshed], None],
    ) -> None:
        self.pending = ChangeQueue()
        self.watcher = watcher
        self.ready = False
        """True once all files have been read."""
        self.storing = asyncio.Lock()
        """Held while the store is written: another thread stores the facts of large files."""
        self.last_sweep: float | None = None
        """Unix time of the last sweep."""
        self._root = root
        self._indexer = indexer
        self._analysis = analysis
        self._report = report
        self._source: UpdateSource = "cold_start"
        self._count = 8
        self._many = False
        self._wake, self._moved, self._urgent = (asyncio.Event() for _ in range(3))
        self._in_child: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self._trouble = ""
        self.want_sweep()

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about current problems."""
        return tuple(note for note in (self.watcher.note, self._trouble) if note)

    def see(self) -> None:
        """Queue all changes made so far, without reading the files."""
        # the kernel queues an event before the changing call returns
        changes = self.watcher.drain()
        self.pending.add(changes.paths)
        if self.watcher.note or not changes.complete:
            self.pending.want_sweep()
        if self.pending:
            self._wake.set()

    def want_sweep(self) -> None:
        """Schedule a sweep of all files."""
        self.pending.want_sweep()
        self._wake.set()

    def invalidate(self, path: str) -> None:
        """Schedule a read of the file at a raw path, even if its Stamp is unchanged."""
        self.pending.add([path])
        self._wake.set()

    async def caught_up(self, ticket: int, patience: float) -> bool:
        """Wait until all changes up to `ticket` are stored.

        Returns False if this takes longer than `patience` seconds.
        """
        until = time.monotonic() + (_TROUBLED_PATIENCE_S if self._trouble else patience)
        while not self.pending.has_reached(ticket):
            self._urgent.set()
            since = self.pending.only_in_child_since(ticket)
            seconds = (until if since is None else min(until, since + patience)) - time.monotonic()
            if seconds <= 0:
                return False
            try:
                async with asyncio.timeout(seconds):
                    await self._moved.wait()
            except TimeoutError:
                continue
        return True

    async def scanned(self, patience: float) -> bool:
        """Wait until all files have been read once.

        Returns False if this takes longer than `patience` seconds.
        """
        until = time.monotonic() + patience
        while not self.ready:
            if (seconds := until - time.monotonic()) <= 0:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._moved.wait()
        return True

    async def work(self) -> None:
        """Read and store changes until cancelled."""
        while True:
            if not self.pending:
                if not self.ready:
                    self.ready, self._source = True, "file_change"
                    self._has_moved()
                    _log.info("all files have been read")
                    release_memory()
                self._many = False
                self._wake.clear()
                await self._wake.wait()
                await self._pause_for_edits()
            try:
                async with self.storing:
                    self._step()
                self._log_recovery()
            except Exception as error:  # noqa: BLE001 (answers must continue)
                self._log_trouble(_describe_error(error))
                self._has_moved()
                await asyncio.sleep(_RETRY_S)
            self._has_moved()
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    async def close(self) -> None:
        tasks = [task for _, task in self._in_child.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._analysis.close()
        self.watcher.close()

    async def _pause_for_edits(self) -> None:
        """Pause briefly unless a request is waiting.

        Editors often truncate a file before they write to it.
        """
        self._urgent.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALM_S):
                await self._urgent.wait()

    def replace_watcher(self, watcher: Watcher) -> None:
        """Switch to another watcher.

        Schedule a sweep, because changes may have been missed in between.
        """
        self.watcher.close()
        self.watcher = watcher
        self.want_sweep()

    def _step(self) -> None:
        """Process one slice of work."""
        if self.pending.sweep_wanted:
            self.last_sweep = time.time()
            look = self._indexer.look()
            self.pending.swept((*look.gone, *look.changed))
            return
        self._many |= len(self.pending) > _MANY
        taken = self.pending.first(self._count)
        began = time.perf_counter()
        try:
            done = self._indexer.refresh(taken, source=self._source, defer_over=DEFER_OVER)
        except BaseException as error:
            self._put_back(taken, error)
            raise
        spent = max(time.perf_counter() - began, 1e-6)
        slice_s = _LONG_SLICE_S if self._many else _SLICE_S
        self._count = max(1, min(_MAX_AT_ONCE, int(len(taken) * slice_s / spent)))
        for path in done.deferred:
            self._send_to_child(path, taken[path])
        self._done(done)

    def _put_back(self, taken: dict[str, int], error: BaseException) -> None:
        """Requeue paths after an error.

        If reading a single file triggers a bug, the file is not requeued. It is read again when it
        changes.
        """
        if isinstance(error, RemoraError | OSError) or len(taken) > 1:
            self.pending.put_back(taken)
        self._count = 1

    def _send_to_child(self, path: str, number: int) -> None:
        try:
            with open_reader(self._root, self._indexer.file_limit) as reader:
                content = reader.read(path)
        except (OSError, DiskError):
            content = Content(b"", None, "gone")
        if content.skipped:  # the next refresh reports the reason
            self.pending.put_back({path: number})
            return
        file_hash = content.file_hash
        known, before = self._in_child.get(path, ("", None))
        if known == file_hash:
            return
        if before is not None:
            before.cancel()
        sent_id = self.pending.sent_to_child(path, number, time.monotonic())
        task = asyncio.get_running_loop().create_task(
            self._analyze_in_child(path, content.data, number, sent_id)
        )
        self._in_child[path] = file_hash, task

    async def _analyze_in_child(self, path: str, source: bytes, number: int, sent_id: int) -> None:
        facts = await self._analysis.analyze(path, source)
        del self._in_child[path]
        try:
            async with self.storing:
                # storing 100,000 nodes takes seconds and must not block the thread that answers
                supply = partial(self._indexer.supply, source=self._source)
                self._done(await asyncio.to_thread(supply, path, facts.file_hash, facts))
        except (RemoraError, OSError) as error:
            self._log_trouble(str(error))
            self.pending.put_back({path: number})
            self._wake.set()
        self.pending.read_by_child(path, sent_id)
        self._has_moved()

    def _done(self, done: Refreshed) -> None:
        for error in done.errors:
            _log.info("%r: %s", error.path, error.detail)
        if done.rebuilt:
            _log.warning("the database was rebuilt: reading all files again")
            self.pending.forget_known_state()
            self._wake.set()
        self._report(done)

    def _has_moved(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _log_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            _log.warning("%s", trouble)

    def _log_recovery(self) -> None:
        if self._trouble:
            _log.info("recovered: %s", self._trouble)
            self._trouble = ""


def _describe_error(error: Exception) -> str:
    """Return a one-line description of an error.

    An unexpected error is a bug and is logged with its traceback.
    """
    if isinstance(error, RemoraError | OSError):
        return str(error)
    _log.error("updating the index failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
