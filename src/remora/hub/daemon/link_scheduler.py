"""Links are found before they are asked for: by a child, while nobody edits, and stored here."""

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
from remora.hub.daemon.child_process import framed
from remora.hub.daemon.updater import Upkeep
from remora.hub.process.spawn import FOLDER, command
from remora.hub.store.hub_store import HubStore
from remora.hub.store.link_writer import Beginning, Portion, Unlinked

QUIET_S = 2.0
"""Seconds without a change before anything is begun."""
_RETRY_S, _MOST_RETRY_S = 30.0, 3600.0
"""How long nothing is tried again after a failure; how long at most where nothing is edited."""
_PAUSE_S = 0.05
_OVERTAKEN_S = 0.5
_MOST_TOLD = 5
_MOST_SAID = 2_000  # the end of a traceback
_beginning = msgspec.msgpack.Decoder(Beginning)
_portion = msgspec.msgpack.Decoder(Portion)
_log = logging.getLogger("remora.hub")
_T = TypeVar("_T")


class _EndedError(Exception):
    """The child ended before the round did."""


class Foresight:
    """`damaged` is called when the database turns out to make no sense. Where links cannot be found
    or stored, answers go on without them, and it is tried again later."""

    def __init__(
        self,
        db: Path,
        store: HubStore,
        upkeep: Upkeep,
        environment: Mapping[str, str],
        *,
        quiet_s: float = QUIET_S,
        damaged: Callable[[], None],
    ) -> None:
        self._db = db
        self._store = store
        self._upkeep = upkeep
        self._environment = environment
        self._quiet_s = quiet_s
        self._damaged = damaged
        self._wanted = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None
        self._last_words: asyncio.Task[str]
        self._changed_at = time.monotonic()
        self._trouble = ""
        self._pause = _RETRY_S
        self.changed()

    @property
    def pid(self) -> int | None:
        """Of the child, while there is one."""
        return None if self._child is None else self._child.pid

    def changed(self) -> None:
        """Something was stored just now."""
        self._changed_at = time.monotonic()
        self._wanted.set()

    async def work(self) -> None:
        """One round after the other, for ever; the child ends when this is cancelled."""
        while True:
            await self._wanted.wait()
            await self._quiet()
            self._wanted.clear()
            try:
                if not await self._stored(lambda: self._store.links().complete()):
                    self._wanted.set()
                    await self._round()
                self._recovered()
            except HubDamaged:
                self._damaged()
                return
            except Exception as error:  # noqa: BLE001 (whatever it is, answers go on)
                await self._wait_after(error)
                self._wanted.set()

    async def _quiet(self) -> None:
        """Wait until everything is read, and nothing has changed for a while."""
        while not self._upkeep.ready or self._upkeep.pending or self._left() > 0:  # noqa: ASYNC110
            await asyncio.sleep(max(self._left(), _PAUSE_S))

    def _left(self) -> float:
        return self._changed_at + self._quiet_s - time.monotonic()

    async def _round(self) -> None:
        """One child's, which is gone when this ends, however it does: it may hold much memory."""
        child = self._child = await self._started()
        try:
            await self._store_what_it_finds(child)
        finally:
            await self._kill()

    async def _store_what_it_finds(self, child: asyncio.subprocess.Process) -> None:
        """Whatever is edited meanwhile, what is found holds for the state in which it began."""
        assert child.stdin is not None
        beginning = _beginning.decode(await self._next(child))
        if not await self._stored(lambda: self._store.links().begin(beginning)):
            await asyncio.sleep(_OVERTAKEN_S)
            return
        child.stdin.write(framed(link_child.GO))
        await child.stdin.drain()
        failed: list[Unlinked] = []
        while body := await self._next(child):
            portion = _portion.decode(body)
            if not await self._stored(partial(self._put, beginning.base, portion)):
                return
            failed += portion.failed
            if portion.links:
                self._recovered()
        if failed:
            raise _EndedError(_told(failed))
        if await self._stored(lambda: self._store.links().end(beginning.base)):
            _log.info("the links of all nodes are stored")

    def _put(self, base: int, portion: Portion) -> bool:
        return self._store.links().put(base, portion)

    async def _started(self) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *command("remora.hub.daemon.link_child:main", str(self._db)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=FOLDER,
            env=dict(self._environment),
            start_new_session=True,  # Ctrl-C is for the daemon
        )
        assert child.stderr is not None
        self._last_words = asyncio.create_task(_last_words(child.stderr))
        return child

    async def _next(self, child: asyncio.subprocess.Process) -> bytes:
        """The next message; while files are read the child waits with it."""
        assert child.stdout is not None
        try:
            head = await child.stdout.readexactly(4)
            body = await child.stdout.readexactly(int.from_bytes(head, "big"))
        except asyncio.IncompleteReadError:
            code = await child.wait()
            if code == link_child.DAMAGED:
                raise HubDamaged(f"{self._db}: links are damaged") from None
            if code == link_child.FULL:
                return b""
            said = await self._last_words
            raise _EndedError(
                f"links cannot be found ahead: the child ended with {code}{said}"
            ) from None
        while self._upkeep.pending:  # noqa: ASYNC110 - nothing is missed by looking now and then
            await asyncio.sleep(_PAUSE_S)
        return body

    async def _stored(self, write: Callable[[], _T]) -> _T:
        """Written by another thread: this one goes on answering."""
        async with self._upkeep.storing:
            work = asyncio.ensure_future(asyncio.to_thread(write))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait({work})  # nobody else writes, or closes, before it is done
                raise

    async def _wait_after(self, error: Exception) -> None:
        trouble = str(error) or type(error).__name__
        if trouble != self._trouble:
            self._trouble = trouble
            expected = isinstance(error, RemoraError | OSError | _EndedError)
            _log.warning("%s", trouble, exc_info=None if expected else error)
        self._wanted.clear()
        await asyncio.sleep(_RETRY_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause - _RETRY_S):
                await self._wanted.wait()  # an edit may have mended it
        self._pause = min(2 * self._pause, _MOST_RETRY_S)

    def _recovered(self) -> None:
        self._trouble, self._pause = "", _RETRY_S

    async def _kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await self._last_words
            await child.communicate()  # what nobody read keeps the pipe open


def _told(failed: list[Unlinked]) -> str:
    """Which nodes have no links, and why."""
    some = "; ".join(
        f"{each.key.removeprefix('node:')}: {each.why}" for each in failed[:_MOST_TOLD]
    )
    more = f"; and {len(failed) - _MOST_TOLD} more" if len(failed) > _MOST_TOLD else ""
    return (
        "links are found when somebody asks, and not before, because those of some nodes cannot be "
        f"found, which is a bug: {some}{more}"
    )


async def _last_words(errors: asyncio.StreamReader) -> str:
    """The end of what a child says on its standard error, read as it comes: it is not to wait."""
    said = b""
    while part := await errors.read(_MOST_SAID):
        said = (said + part)[-_MOST_SAID:]
    text = said.decode(errors="replace").strip()
    return f": {text}" if text else ""
