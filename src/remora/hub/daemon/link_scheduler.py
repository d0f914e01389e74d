"""Scheduler that precomputes links while no files change, and stores the links.

The links are computed in a child process.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from remora.errors import HubDamaged, RemoraError
from remora.hub.daemon import link_child
from remora.hub.daemon.child_process import frame_message, read_message, start_child
from remora.hub.daemon.updater import Updater
from remora.hub.store.hub_store import HubStore
from remora.hub.store.link_writer import Portion, RoundStart, Unlinked

QUIET_S = 2.0
"""Seconds without a change before a round begins."""
_RETRY_S, _MAX_RETRY_S = 30.0, 3600.0
"""Seconds between attempts after a failure: initially, and at most while nothing changes."""
_PAUSE_S = 0.05
_OVERTAKEN_S = 0.5
_MAX_LISTED = 5
_MAX_STDERR = 2_000  # bytes; enough for the end of a traceback
_beginning = msgspec.msgpack.Decoder(RoundStart)
_portion = msgspec.msgpack.Decoder(Portion)
_log = logging.getLogger("remora.hub")
_T = TypeVar("_T")


class _EndedError(Exception):
    """Raised if a round ends early or cannot compute all links."""


class LinkScheduler:
    """Precomputes links, and retries after failures. Calls `damaged` if the database is damaged."""

    def __init__(
        self,
        db: Path,
        store: HubStore,
        updater: Updater,
        environment: Mapping[str, str],
        *,
        quiet_s: float,
        damaged: Callable[[], None],
    ) -> None:
        self._db = db
        self._store = store
        self._updater = updater
        self._environment = environment
        self._quiet_s = quiet_s
        self._damaged = damaged
        self._changes = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None
        self._stderr_tail: asyncio.Task[str]
        self._changed_at = time.monotonic()
        self._trouble = ""
        self._pause = _RETRY_S
        self.changed()

    @property
    def pid(self) -> int | None:
        """Process id of the child, or None if no child is running."""
        return None if self._child is None else self._child.pid

    def changed(self) -> None:
        """Record that the stored state changed."""
        self._changed_at = time.monotonic()
        self._changes.set()

    async def work(self) -> None:
        """Run rounds until cancelled. Cancellation also stops the child."""
        while True:
            await self._changes.wait()
            await self._wait_for_quiet()
            self._changes.clear()
            try:
                if not await self._write_in_thread(lambda: self._store.links().are_complete()):
                    self._changes.set()
                    await self._round()
                self._clear_trouble()
            except HubDamaged:
                self._damaged()
                return
            except Exception as error:  # noqa: BLE001 (requests do not need precomputed links)
                await self._wait_after(error)
                self._changes.set()

    async def _wait_for_quiet(self) -> None:
        """Wait until all files have been read and nothing has changed for a while."""
        while not self._updater.ready or self._updater.pending or self._remaining_quiet() > 0:  # noqa: ASYNC110
            await asyncio.sleep(max(self._remaining_quiet(), _PAUSE_S))

    def _remaining_quiet(self) -> float:
        return self._changed_at + self._quiet_s - time.monotonic()

    async def _round(self) -> None:
        """Run one round in a new child.

        The child is always stopped afterwards, because it may use a lot of memory.
        """
        child = self._child = await self._start_child()
        try:
            await self._store_results(child)
        finally:
            await self._kill()

    async def _store_results(self, child: asyncio.subprocess.Process) -> None:
        """Store the child's results.

        They are valid only if the stored state has not changed since the start of the round.
        """
        assert child.stdin is not None
        beginning = _beginning.decode(await self._next(child))
        if not await self._write_in_thread(lambda: self._store.links().begin(beginning)):
            await asyncio.sleep(_OVERTAKEN_S)
            return
        child.stdin.write(frame_message(link_child.GO))
        await child.stdin.drain()
        failed: list[Unlinked] = []
        while body := await self._next(child):
            portion = _portion.decode(body)
            if not await self._write_in_thread(partial(self._put_portion, beginning.base, portion)):
                return
            failed += portion.failed
            if portion.links:
                self._clear_trouble()
        if failed:
            raise _EndedError(_summary(failed))
        if await self._write_in_thread(lambda: self._store.links().end(beginning.base)):
            _log.info("the links of all nodes are stored")

    def _put_portion(self, base: int, portion: Portion) -> bool:
        return self._store.links().put(base, portion)

    async def _start_child(self) -> asyncio.subprocess.Process:
        child = await start_child(
            "remora.hub.daemon.link_child:main",
            str(self._db),
            self._environment,
            stderr=asyncio.subprocess.PIPE,
        )
        assert child.stderr is not None
        self._stderr_tail = asyncio.create_task(_stderr_tail(child.stderr))
        return child

    async def _next(self, child: asyncio.subprocess.Process) -> bytes:
        """Return the child's next message once no changed files are waiting to be read."""
        assert child.stdout is not None
        try:
            body = await read_message(child.stdout)
        except asyncio.IncompleteReadError:
            if (code := await child.wait()) == link_child.DAMAGED:
                raise HubDamaged(f"{self._db}: the link data is corrupt") from None
            if code == link_child.FULL:
                return b""
            output = await self._stderr_tail
            raise _EndedError(
                f"precomputing links failed: the child exited with {code}{output}"
            ) from None
        while self._updater.pending:  # noqa: ASYNC110 - polling misses nothing
            await asyncio.sleep(_PAUSE_S)
        return body

    async def _write_in_thread(self, write: Callable[[], _T]) -> _T:
        """Run `write` in another thread, so that requests are not blocked."""
        async with self._updater.storing:
            work = asyncio.ensure_future(asyncio.to_thread(write))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait({work})  # it must finish before another write or close
                raise

    async def _wait_after(self, error: Exception) -> None:
        trouble = str(error) or type(error).__name__
        if trouble != self._trouble:
            self._trouble = trouble
            expected = isinstance(error, RemoraError | OSError | _EndedError)
            _log.warning("%s", trouble, exc_info=None if expected else error)
        self._changes.clear()
        await asyncio.sleep(_RETRY_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause - _RETRY_S):
                await self._changes.wait()  # an edit may have fixed it
        self._pause = min(2 * self._pause, _MAX_RETRY_S)

    def _clear_trouble(self) -> None:
        self._trouble, self._pause = "", _RETRY_S

    async def _kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await self._stderr_tail
            await child.communicate()  # an unread pipe stays open


def _summary(failed: list[Unlinked]) -> str:
    """Return a message that lists the nodes without links and the reasons."""
    reasons = "; ".join(
        f"{node.key.removeprefix('node:')}: {node.why}" for node in failed[:_MAX_LISTED]
    )
    rest = f"; and {len(failed) - _MAX_LISTED} more" if len(failed) > _MAX_LISTED else ""
    return (
        "links are computed only on request, because computing them in advance failed for some "
        f"nodes: {reasons}{rest}"
    )


async def _stderr_tail(errors: asyncio.StreamReader) -> str:
    """Read a child's standard error as it arrives, and return the end of it.

    Reading keeps the child from blocking on a full pipe.
    """
    output = b""
    while part := await errors.read(_MAX_STDERR):
        output = (output + part)[-_MAX_STDERR:]
    text = output.decode(errors="replace").strip()
    return f": {text}" if text else ""
