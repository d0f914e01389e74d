"""Trace store in memory: proves that the suite needs no files."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from remora.errors import NotFound, SeqConflict, UsageError, WriterReplaced
from remora.ids import is_id
from remora.memory.events import Head, decode_event
from remora.trace.stream.trace_store import Claim


class Storage:
    """Data shared by several stores of one database."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lines: dict[str, list[bytes]] = {}
        self.epochs: dict[str, int] = {}
        self.properties: set[str] = set()


class MemoryStore:
    """A claim takes the stream away from its writer, as a database may do."""

    appends_turns = False

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def claim(self, stream: str) -> Claim:
        if not all(map(is_id, stream.split("/"))):
            raise UsageError(f"{stream!r} is not a valid stream name")
        with self._storage.lock:
            lines = self._storage.lines.setdefault(stream, [])
            epoch = self._storage.epochs[stream] = self._storage.epochs.get(stream, 0) + 1
            self._storage.properties.add(stream)
            last = decode_event(lines[-1][:-1]) if lines else None
        return Claim(epoch=epoch, head=self.head(stream), last=last)

    def append(self, stream: str, epoch: int, expected_seq: int, *added: bytes) -> None:
        with self._storage.lock:
            self._check(stream, epoch)
            lines = self._storage.lines[stream]
            if len(lines) != expected_seq:
                raise SeqConflict(f"{stream} has {len(lines)} lines")
            lines.extend(added)

    def sync(self, stream: str, epoch: int) -> None:
        with self._storage.lock:
            self._check(stream, epoch)

    def release(self, stream: str, epoch: int) -> None:
        with self._storage.lock, suppress(WriterReplaced):
            self._check(stream, epoch)
            self._storage.properties.discard(stream)

    def head(self, stream: str) -> Head:
        lines = list(self.lines(stream))
        return Head(count=len(lines), hash=decode_event(lines[-1]).hash) if lines else Head()

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        if not all(map(is_id, stream.split("/"))):
            raise UsageError(f"{stream!r} is not a valid stream name")
        if stream not in self._storage.lines:
            raise NotFound(f"no stream {stream}")
        return (line[:-1] for line in islice(self._storage.lines[stream], start, None))

    def streams(self) -> Iterator[str]:
        yield from sorted(self._storage.lines)

    def _check(self, stream: str, epoch: int) -> None:
        current = self._storage.epochs.get(stream)
        if current != epoch or stream not in self._storage.properties:
            raise WriterReplaced(f"{stream} is no longer open in this writer")
