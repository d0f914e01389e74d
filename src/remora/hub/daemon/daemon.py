"""Startup, periodic work and shutdown of the daemon of a project."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from remora.errors import OutsideError, RemoraError
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.health import HealthCheck
from remora.hub.daemon.link_scheduler import QUIET_S, LinkScheduler
from remora.hub.daemon.request_handler import RequestHandler
from remora.hub.daemon.status import DaemonStatus
from remora.hub.daemon.updater import Updater
from remora.hub.index.indexer import Indexer, Refreshed
from remora.hub.process.addresses import Addresses, make_token, remove, write_addresses
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.process.socket_listener import Listener
from remora.hub.protocol import StatusResult
from remora.hub.server.unix_server import UnixConnections
from remora.hub.store.hub_store import HubStore
from remora.hub.store.owner_lock import OwnerLock
from remora.hub.watch.watcher import Watcher

if TYPE_CHECKING:
    from remora.hub.server.http_routes import HubHttp

Outcome = Literal["stopped", "restart"]
TICK_S = 1.0
_UNWATCHED_SWEEP_S = 2.0
_GOODBYE_S = 2.0
_WATCH_AGAIN_S = 15.0
_log = logging.getLogger("remora.hub")


class DaemonParts(NamedTuple):
    """Components that the daemon's caller creates."""

    store: HubStore
    indexer: Indexer
    open_watcher: Callable[[], Watcher]


class DaemonSettings(NamedTuple):
    """Settings of a daemon. `http` is a loopback address and a port. Port 0 selects a free port."""

    sweep_seconds: int
    idle_stop_minutes: int
    memory_mb: int
    http: tuple[str, int] | None
    environment: Mapping[str, str]
    """Environment of the child processes."""
    restarted: float | None = None
    """Monotonic time in seconds at which the daemon last restarted itself, or None."""
    quiet_s: float = QUIET_S
    """Number of seconds without changes after which links are precomputed."""


class Daemon:
    """A single run of the daemon. The caller must hold the database lock."""

    def __init__(self, places: HubPaths, settings: DaemonSettings, ownership: OwnerLock) -> None:
        self._places = places
        self._settings = settings
        self._ownership = ownership
        self._outcome: asyncio.Future[Outcome]
        self._written: Addresses | None = None
        self._reader: int | None = None
        self._damaged = False
        self._watched_at = time.monotonic()

    async def run(self, parts: DaemonParts, ready: Callable[[StatusResult], None]) -> Outcome:
        """Answer requests until the daemon has to stop or restart.

        Raises OutsideError if the daemon cannot listen for requests.
        """
        loop = asyncio.get_running_loop()
        self._outcome = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, "stopped")
        self._compose(parts)
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._listen()
            tasks = [loop.create_task(work) for work in (self._updater.work(), self._tick())]
            tasks += [
                loop.create_task(work) for work in (self._sweep(), self._link_scheduler.work())
            ]
            for task in tasks:
                task.add_done_callback(self._broken)
            ready(self._status.status())
            return await self._outcome
        finally:
            await self._shut_down(tasks)
            self._rebuild_damaged(parts.store)

    def _compose(self, parts: DaemonParts) -> None:
        places = self._places
        self._parts = parts
        self._updater = Updater(
            places.root,
            parts.indexer,
            parts.open_watcher(),
            AnalysisPool(self._settings.environment),
            report=self._changed,
        )
        self._status = DaemonStatus(parts.store, places, self._updater)
        self._handler = RequestHandler(
            parts.store, places, self._status, self._updater, damaged=self._begin_empty
        )
        self._link_scheduler = LinkScheduler(
            places.db,
            parts.store,
            self._updater,
            self._settings.environment,
            quiet_s=self._settings.quiet_s,
            damaged=self._begin_empty,
        )
        self._connections = UnixConnections(self._handler)
        self._health = HealthCheck(
            places.root, memory_mb=self._settings.memory_mb, restarted=self._settings.restarted
        )

    def _changed(self, done: Refreshed) -> None:
        """Announce a new generation.

        It may have no changed nodes, for example if only a file hash changed.
        """
        if done.generation == self._status.generation:
            return
        self._status.generation = done.generation
        self._link_scheduler.changed()
        self._handler.announce(done.generation, done.changed)

    async def _listen(self) -> None:
        self._server: asyncio.AbstractServer | None = None
        self._listener: Listener | None = None
        self._http: HubHttp | None = None
        await self._listen_socket()
        if self._settings.http is not None:
            self._listen_http(self._settings.http)
        self._write_addresses()

    async def _listen_socket(self) -> None:
        self._listener = Listener(self._places.socket)
        self._server = await self._connections.listen(self._listener)

    def _listen_http(self, address: tuple[str, int]) -> None:
        from remora.hub.server.http_routes import HubHttp  # needs an extra

        self._http = HubHttp(self._handler, make_token(self._places.token), address)
        self._http.task.add_done_callback(self._broken)
        self._status.http = self._http.url

    async def _sweep(self) -> None:
        """Sweep all files periodically, because watchers can miss changes."""
        while True:
            pause = float(self._settings.sweep_seconds)
            if self._updater.watcher.note:
                pause = min(pause, _UNWATCHED_SWEEP_S)
            await asyncio.sleep(pause)
            self._updater.want_sweep()

    async def _tick(self) -> None:
        while True:
            self._follow_watcher()
            await asyncio.sleep(TICK_S)
            now = asyncio.get_running_loop().time()
            self._connections.reap(now)
            await self._repair()
            self._watch_again(now)
            self._check_health()

    def _watch_again(self, now: float) -> None:
        """Replace a watcher that gave up.

        This may succeed now if the root has reappeared or watches have become available.
        """
        watcher = self._updater.watcher
        if not watcher.note or now - self._watched_at < _WATCH_AGAIN_S:
            return
        self._watched_at = now
        if self._places.root.is_dir():
            self._updater.replace_watcher(self._parts.open_watcher())

    def _follow_watcher(self) -> None:
        """Register the watcher's descriptor with the event loop.

        The descriptor changes when the watcher is replaced.
        """
        loop, watched = asyncio.get_running_loop(), self._updater.watcher.fileno()
        if watched == self._reader:
            return
        if self._reader is not None:
            loop.remove_reader(self._reader)
        if watched is not None:
            loop.add_reader(watched, self._updater.see)
        self._reader = watched

    async def _repair(self) -> None:
        """Restart if the database was removed. Listen again if the socket was removed."""
        if self._ownership.is_lost() or not self._places.db.exists():
            _log.warning("the database was removed: restarting")
            self._end("restart")
            return
        if self._listener is None or self._listener.is_lost():
            _log.warning("the socket was removed: listening again")
            try:
                self._close_socket()
                await self._listen_socket()
            except OutsideError as error:
                _log.warning("%s", error)
        self._write_addresses()

    def _close_socket(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._listener is not None:
            self._listener.close()
        self._server = self._listener = None

    def _write_addresses(self) -> None:
        notes = (*self._updater.notes, *self._health.notes)
        addresses = Addresses(
            socket=display_path(self._places.socket), http=self._status.http, notes=notes
        )
        if addresses != self._written or not self._places.addresses.exists():
            with suppress(OSError):  # e.g. a full disk; the next tick retries
                write_addresses(self._places.addresses, addresses)
                self._written = addresses

    def _check_health(self) -> None:
        """Stop the daemon if it is unhealthy or has been idle for too long."""
        verdict = self._health.verdict(time.monotonic(), settled=self._updater.ready)
        if verdict is not None:
            outcome, why = verdict
            _log.info("%s", why)
            self._end(outcome)
        idle = time.monotonic() - self._handler.last_asked
        limit = self._settings.idle_stop_minutes * 60
        if limit and idle > limit and not self._handler.subscribers:
            _log.info("no request for %d min: stopping", self._settings.idle_stop_minutes)
            self._end("stopped")

    def _end(self, outcome: Outcome) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def _begin_empty(self) -> None:
        """Restart with an empty database, because the current database is damaged."""
        self._damaged = True
        self._end("restart")

    def _rebuild_damaged(self, store: HubStore) -> None:
        if self._damaged:
            with suppress(RemoraError):  # the next start finds the damage again
                store.rebuild()
        store.close()

    def _broken(self, task: asyncio.Task[None]) -> None:
        """Restart if `task` failed, which indicates a bug."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a daemon task failed", exc_info=error)
            self._end("restart")

    async def _shut_down(self, tasks: list[asyncio.Task[None]]) -> None:
        """Stop accepting requests, answer pending requests, and remove the daemon's files."""
        self._close_socket()
        remove(self._places.addresses, self._places.token)
        http = [] if self._http is None else [self._http.close()]
        await asyncio.gather(self._connections.finish(_GOODBYE_S), *http)
        self._connections.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._reader is not None:
            asyncio.get_running_loop().remove_reader(self._reader)
        await self._updater.close()
        self._handler.close()
