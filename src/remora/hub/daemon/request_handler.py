"""Request handler of the daemon.

It waits until all changes made before a request have been read, and then answers the request.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from stat import S_ISDIR
from typing import Any

from msgspec import Raw

from remora.errors import HubDamaged, NotFound, RemoraError
from remora.hub.daemon.query_threads import QueryThreads, ReadFiles
from remora.hub.daemon.status import DaemonStatus
from remora.hub.daemon.updater import Updater
from remora.hub.process.hub_paths import HubPaths
from remora.hub.protocol import (
    PROTOCOL,
    TYPES,
    ChangedSince,
    Health,
    Invalidate,
    Refused,
    Request,
    Status,
    Subscribe,
    answer_line,
    changed_line,
    encoded,
)
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle, is_whole
from remora.hub.store.hub_store import HubStore
from remora.ids import unescape_path

PATIENCE_S = 1.5
"""Seconds that a request waits for files being read; after that its answer is not fresh."""
SCAN_PATIENCE_S = 60.0
"""Seconds that a request waits for the initial scan."""
_SCANNING = "the initial scan is not complete"
_KEYS_PER_EVENT = 2000  # keeps an event line well below a subscriber's limit of unread bytes
_MAX_CACHED = 8 << 20  # bytes of cached answers and their requests
_CACHE_OVERHEAD = 600  # additional bytes per cached answer: objects and table entries

_REQUEST_FIELDS = {
    kind: tuple(name for name in kind.__struct_fields__ if name != "id") for kind in TYPES.values()
}


class RequestHandler:
    """Implements `Handler`. Calls `damaged` if the database is found to be damaged."""

    def __init__(
        self,
        store: HubStore,
        places: HubPaths,
        status: DaemonStatus,
        updater: Updater,
        *,
        damaged: Callable[[], None],
    ) -> None:
        self._root = places.root
        self._store = store
        self._status = status
        self._updater = updater
        self._damaged = damaged
        self._subscribers: dict[Callable[[bytes], None], None] = {}
        self._threads = QueryThreads(places.root, places.db, ReadFiles.empty())
        self._cache: dict[tuple[Any, ...], Raw] = {}
        self._kept_in = status.generation
        self._kept_size = 0
        self.last_asked = time.monotonic()

    @property
    def subscribers(self) -> int:
        return len(self._subscribers)

    def subscribe(self, send: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `send` with a line for each new generation.

        Call the returned function to unsubscribe.
        """
        self._subscribers[send] = None
        return lambda: self._subscribers.pop(send, None)

    def close(self) -> None:
        self._threads.close()

    def announce(self, generation: int, changed: tuple[str, ...]) -> None:
        """Send the keys of changed nodes to all subscribers."""
        for keys in _portions(changed):
            line = changed_line(generation, keys)
            for send in list(self._subscribers):
                send(line)

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        """Return the answer line, or an awaitable if the answer is not available immediately.

        Raises Refused if the request cannot be answered.
        """
        match request:
            case Health():
                return self._line(request, {"status": "ok", "protocol": PROTOCOL})
            case Status():
                return self._line(request, self._status.status())
            case Invalidate() | Subscribe():
                if isinstance(request, Invalidate):
                    self._invalidate(request.path)
                return self._line(request, None)
        self.last_asked = time.monotonic()
        if not self._updater.ready:
            if isinstance(request, ChangedSince):  # clients poll with it until the scan is complete
                raise Refused("busy", _SCANNING)
            return self._answer_after_scan(request)
        self._updater.see()
        ticket = self._updater.pending.ticket()
        cached = self._cached_result(request)
        if cached is not None and self._updater.pending.has_reached(ticket):
            return self._line(request, cached)
        return self._answer_later(request, ticket)

    async def _answer_after_scan(self, request: Request) -> bytes:
        """Answer a request that arrived during the initial scan, as soon as the scan is complete.

        A client with less time closes the connection and uses another source.
        """
        if not await self._updater.scanned(SCAN_PATIENCE_S):
            raise Refused("busy", _SCANNING)
        answer = self.answer(request)
        return answer if isinstance(answer, bytes) else await answer

    def _cache_answer(self, request: Request, generation: int, result: Raw) -> bytes:
        """Return the answer line, and cache the answer if it is for the latest state."""
        if generation == self._kept_in == self._status.generation:
            self._cache[_subject(request)] = result
            self._kept_size += len(bytes(result)) + len(bytes(encoded(request))) + _CACHE_OVERHEAD
        return answer_line(request, generation, result)

    def _cached_result(self, request: Request) -> Raw | None:
        if self._kept_in != self._status.generation or self._kept_size > _MAX_CACHED:
            self._cache, self._kept_in, self._kept_size = {}, self._status.generation, 0
        return self._cache.get(_subject(request))

    async def _answer_later(self, request: Request, ticket: int) -> bytes:
        fresh = await self._updater.caught_up(ticket, PATIENCE_S)
        with _refusals(self._damaged):
            if isinstance(request, ChangedSince):
                changed, complete = self._store.changed_since(request.generation)
                listed = {"changed": changed, "complete": complete}
                return self._line(request, {"generation": self._status.generation, **listed})

            def ask(answers: NodeQueries) -> tuple[int, Raw, bool]:
                result = handle(request, answers.with_freshness(fresh=fresh), suggest=False)
                return answers.generation, encoded(result), fresh and is_whole(result)

            # a computation started before a change that this request waited for has another generation
            same = (self._status.generation, fresh, _subject(request))
            generation, result, cached = await self._threads.ask(ask, same)
        if cached:
            return self._cache_answer(request, generation, result)
        return answer_line(request, generation, result)

    def _line(self, request: Request, result: Any) -> bytes:
        return answer_line(request, self._status.generation, result)

    def _invalidate(self, path: str) -> None:
        """Schedule a read of a file, or a sweep if the path is a folder.

        Raises Refused if the path is outside the root.
        """
        raw = path if path.startswith("/") else unescape_path(path)
        place = self._root / raw
        if ".." in place.parts or "\0" in raw or not place.is_relative_to(self._root):
            raise Refused("bad_request", f"{path[:200]} is outside the root")
        try:
            is_folder = S_ISDIR(place.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
        except OSError as error:  # e.g. the path is too long
            raise Refused("bad_request", f"{path[:200]}: {error.strerror}") from None
        if is_folder:
            self._updater.want_sweep()
        else:
            self._updater.invalidate(str(place.relative_to(self._root)))


def _subject(request: Request) -> tuple[Any, ...]:
    """Return the type and fields of a request, except its id."""
    return (type(request), *(getattr(request, name) for name in _REQUEST_FIELDS[type(request)]))


@contextmanager
def _refusals(damaged: Callable[[], None]) -> Iterator[None]:
    """Convert errors raised in the block to Refused."""
    try:
        yield
    except NotFound as error:
        raise Refused("unknown_node", error.message) from None
    except HubDamaged as error:
        damaged()
        raise Refused("busy", error.message) from error
    except RemoraError as error:
        raise Refused("busy", error.message) from error


def _portions(keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Split keys into the portions of events. If there are no keys, yield an empty portion."""
    for first in range(0, max(len(keys), 1), _KEYS_PER_EVENT):
        yield keys[first : first + _KEYS_PER_EVENT]
