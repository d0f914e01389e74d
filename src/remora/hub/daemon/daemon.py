"""The daemon of one root, from its first answer to its last."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from remora.errors import OutsideError, RemoraError
from remora.hub.daemon.analysis_pool import Laboratory
from remora.hub.daemon.health import Vitals, release_memory
from remora.hub.daemon.link_scheduler import QUIET_S, Foresight
from remora.hub.daemon.request_handler import Answering
from remora.hub.daemon.status import Knowledge
from remora.hub.daemon.updater import Upkeep
from remora.hub.index.indexer import Indexer
from remora.hub.observe.spool import collect, spool_folder
from remora.hub.observed_links import Observation
from remora.hub.process.addresses import Addresses, make_token, remove, write_addresses
from remora.hub.process.hub_paths import HubPlaces
from remora.hub.protocol import StatusResult
from remora.hub.query.queries import Answers
from remora.hub.server.http_server import HttpConnections
from remora.hub.server.socket_listener import Listener
from remora.hub.server.unix_server import Connections
from remora.hub.store.hub_store import HubStore
from remora.hub.store.owner_lock import Ownership
from remora.hub.watch.watcher_protocol import Watcher

Outcome = Literal["stopped", "restart"]
TICK_S = 1.0
_UNWATCHED_SWEEP_S = 2.0
_GOODBYE_S = 2.0
_WATCH_AGAIN_S = 15.0
_log = logging.getLogger("remora.hub")


class Parts(NamedTuple):
    """What a daemon keeps up to date."""

    store: HubStore
    indexer: Indexer
    open_watcher: Callable[[], Watcher]
    newest_changes: Callable[[], Callable[[Answers], tuple[str, ...]]]
    """Asked after each: what finds the nodes that it reaches beyond those that changed."""


class Settings(NamedTuple):
    """`http` is a loopback address and a port, 0 for a free one."""

    sweep_seconds: int
    idle_stop_minutes: int
    memory_mb: int
    http: tuple[str, int] | None
    environment: Mapping[str, str]
    """Of the child process."""
    restarted: float | None = None
    """When it last replaced itself, in seconds of the monotonic clock."""
    quiet_s: float = QUIET_S
    """How long nothing must have changed before links are found ahead."""


class Daemon:
    """Runs once. Whoever makes it holds the lock of the database."""

    def __init__(
        self,
        places: HubPlaces,
        settings: Settings,
        ownership: Ownership,
    ) -> None:
        self._places = places
        self._settings = settings
        self._ownership = ownership
        self._outcome: asyncio.Future[Outcome]
        self._written: Addresses | None = None
        self._reader: int | None = None
        self._damaged = False
        self._events: asyncio.Queue[Awaitable[None]] = asyncio.Queue()
        self._watched_at = time.monotonic()
        self._released = False

    async def run(self, parts: Parts, ready: Callable[[StatusResult], None]) -> Outcome:
        """Answer until told to stop, or until it is better to begin anew. `ready` is called once
        it can be asked. Raises OutsideError where it cannot listen."""
        loop = asyncio.get_running_loop()
        self._outcome = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, "stopped")
        self._compose(parts)
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._listen()
            tasks = [loop.create_task(work) for work in (self._upkeep.work(), self._tick())]
            tasks += [loop.create_task(work) for work in (self._sweep(), self._announce())]
            tasks.append(loop.create_task(self._foresight.work()))
            for task in tasks:
                task.add_done_callback(self._broken)
            ready(self._known.status())
            return await self._outcome
        finally:
            await self._goodbye(tasks)
            self._give_back(parts.store)

    def _compose(self, parts: Parts) -> None:
        places = self._places
        self._parts = parts
        self._known = Knowledge(parts.store, places)
        self._upkeep = Upkeep(
            places.root,
            parts.indexer,
            parts.open_watcher(),
            Laboratory(self._settings.environment),
            tell=self._changed,
        )
        self._known.upkeep = self._upkeep
        self._desk = Answering(places, self._known, self._upkeep, damaged=self._begin_empty)
        self._foresight = Foresight(
            places.db,
            parts.store,
            self._upkeep,
            self._settings.environment,
            quiet_s=self._settings.quiet_s,
            damaged=self._begin_empty,
        )
        self._connections = Connections(self._desk)
        self._vitals = Vitals(
            places.root, memory_mb=self._settings.memory_mb, restarted=self._settings.restarted
        )

    def _changed(self, generation: int, changed: tuple[str, ...]) -> None:
        """A generation may bring no fact of a node, and another hash of its file all the same."""
        if generation == self._known.generation:
            return
        self._known.generation = generation
        self._foresight.changed()
        reached = self._parts.newest_changes()
        if self._desk.subscribers:
            self._events.put_nowait(self._desk.announce(generation, changed, reached))

    async def _announce(self) -> None:
        """One event after the other."""
        while True:
            await (await self._events.get())

    def _collect_observations(self) -> None:
        """What was seen while tests ran waits beside the database: only we may write there."""

        def record(observation: Observation) -> None:
            done = self._parts.store.record_observed(observation)
            self._changed(done.generation, done.changed)

        if self._upkeep.storing.locked():
            return
        try:
            collect(spool_folder(self._places.db), record)
        except (RemoraError, OSError) as error:
            _log.warning("observations are kept for later: %s", error)

    async def _listen(self) -> None:
        self._http: HttpConnections | None = None
        self._servers: list[asyncio.AbstractServer] = []
        self._listener: Listener | None = None
        await self._listen_socket()
        if self._settings.http is not None:
            await self._listen_http(*self._settings.http)
        self._write_addresses()

    async def _listen_socket(self) -> None:
        self._listener = Listener(self._places.socket)
        self._servers.append(await self._connections.listen(self._listener))

    async def _listen_http(self, host: str, port: int) -> None:
        self._http = HttpConnections(self._desk, make_token(self._places.token))
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self._http.made, host, port)
        except OSError as error:
            raise OutsideError(
                f"cannot listen at {host}:{port}: {error.strerror}", hint="port 0 takes a free one"
            ) from error
        self._servers.append(server)
        bound = server.sockets[0].getsockname()[1]
        self._known.http = f"http://{f'[{host}]' if ':' in host else host}:{bound}"

    async def _sweep(self) -> None:
        """Look at all files now and then: no watcher is believed for ever."""
        while True:
            pause = float(self._settings.sweep_seconds)
            if not self._upkeep.watcher.healthy:
                pause = min(pause, _UNWATCHED_SWEEP_S)
            await asyncio.sleep(pause)
            self._upkeep.want_sweep()

    async def _tick(self) -> None:
        while True:
            self._follow_watcher()
            await asyncio.sleep(TICK_S)
            now = asyncio.get_running_loop().time()
            self._connections.reap(now)
            if self._http is not None:
                self._http.reap(now)
            await self._repair()
            self._collect_observations()
            self._watch_again(now)
            self._release_memory()
            self._judge()

    def _release_memory(self) -> None:
        """Once, when the first look at all files is done."""
        if self._upkeep.ready and not self._released:
            self._released = True
            release_memory()

    def _watch_again(self, now: float) -> None:
        """A watcher that gave up may do better now: the root is there again, or watches are."""
        watcher = self._upkeep.watcher
        if watcher.healthy or now - self._watched_at < _WATCH_AGAIN_S:
            return
        self._watched_at = now
        if watcher.note and self._places.root.is_dir():
            self._upkeep.replace_watcher(self._parts.open_watcher())

    def _follow_watcher(self) -> None:
        """Have the watcher's events read as they come; its descriptor may be another one now."""
        loop, watched = asyncio.get_running_loop(), self._upkeep.watcher.fileno()
        if watched == self._reader:
            return
        if self._reader is not None:
            loop.remove_reader(self._reader)
        if watched is not None:
            loop.add_reader(watched, self._upkeep.see)
        self._reader = watched

    async def _repair(self) -> None:
        """What somebody cleaned up is made again."""
        if self._ownership.lost() or not self._places.db.exists():
            _log.warning("the database was removed: beginning anew")
            self._end("restart")
            return
        if self._listener is None or self._listener.lost():
            _log.warning("the socket was removed: listening anew")
            try:
                if self._listener is not None:
                    self._servers.pop(0).close()
                    self._listener.close()
                    self._listener = None
                await self._listen_socket()
                self._servers.insert(0, self._servers.pop())
            except OutsideError as error:
                _log.warning("%s", error)
        self._write_addresses()

    def _write_addresses(self) -> None:
        status = self._known.status()
        addresses = Addresses(
            pid=status.pid or 0,
            root=status.root,
            socket=status.socket,
            http=status.http,
            token_file=status.token_file,
            notes=(*self._upkeep.notes, *self._vitals.notes),
        )
        if addresses != self._written or not self._places.addresses.exists():
            with suppress(OSError):  # a full disk: it is tried again
                write_addresses(self._places.addresses, addresses)
                self._written = addresses

    def _judge(self) -> None:
        """Whether to go on."""
        verdict = self._vitals.verdict(time.monotonic(), settled=self._upkeep.ready)
        if verdict is not None:
            outcome, why = verdict
            _log.info("%s", why)
            self._end(outcome)
        idle = time.monotonic() - self._desk.last_asked
        limit = self._settings.idle_stop_minutes * 60
        if limit and idle > limit and not self._desk.subscribers:
            _log.info("nobody asked for %d minutes", self._settings.idle_stop_minutes)
            self._end("stopped")

    def _end(self, outcome: Outcome) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def _begin_empty(self) -> None:
        """A reader met damage, of which the writer, who has much in memory, may know nothing."""
        self._damaged = True
        self._end("restart")

    def _give_back(self, store: HubStore) -> None:
        if self._damaged:
            with suppress(RemoraError):  # then it is met again
                store.rebuild()
        store.close()

    def _broken(self, task: asyncio.Task[None]) -> None:
        """A task that ends by itself is a bug: begin anew rather than answer without it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a part of the daemon failed", exc_info=error)
            self._end("restart")

    async def _goodbye(self, tasks: list[asyncio.Task[None]]) -> None:
        """Take no more questions, answer those that were asked, and leave nothing behind."""
        for server in self._servers:
            server.close()
        remove(self._places.addresses, self._places.token)
        if self._listener is not None:
            self._listener.close()
        await self._connections.finish(_GOODBYE_S)
        self._connections.close()
        if self._http is not None:
            self._http.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._reader is not None:
            asyncio.get_running_loop().remove_reader(self._reader)
        await self._upkeep.close()
        self._desk.close()
