"""A desk that answers without a hub, served as the daemon serves it."""

import asyncio
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from remora.hub.protocol import GetNode, Health, Refused, Request, Search, answer_line


class ADesk:
    """Answers `health` at once, `search` after `limit` milliseconds, and fails on `get_node`."""

    def __init__(self) -> None:
        self.told: list[Callable[[bytes], None]] = []

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        match request:
            case Search():
                return self._later(request)
            case GetNode(node="bug"):
                raise ZeroDivisionError
            case GetNode():
                raise Refused("unknown_node", f"no node {request.node}")
            case Health():
                return answer_line(request, 1, {"status": "ok", "protocol": 1})
        return answer_line(request, 1, None)

    async def _later(self, request: Search) -> bytes:
        await asyncio.sleep(request.limit / 1000)
        return answer_line(request, 1, {"query": "q" * len(request.query)})

    def subscribe(self, tell: Callable[[bytes], None]) -> Callable[[], None]:
        self.told.append(tell)
        return lambda: self.told.remove(tell)


class Served:
    """A desk that a server in a thread of its own serves, until `close`."""

    def __init__(self) -> None:
        self.desk = ADesk()
        self.loop = asyncio.new_event_loop()
        self._ready, self._done = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(20)

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self.loop.close()

    async def _serve(self) -> None:
        async with self.serving():
            self._ready.set()
            await self._done.wait()

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Serve in the block."""
        raise NotImplementedError

    def close(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._done.set)
            self._thread.join(20)


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="rh-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class Client:
    """A connection as any program may have it: blocking, with a generous deadline."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.file = self.socket.makefile("rb")

    def send(self, *lines: Any) -> None:
        for line in lines:
            said = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            self.socket.sendall(said)

    def read(self) -> Any:
        line = self.file.readline()
        return json.loads(line) if line else None

    def ask(self, kind: str, **more: Any) -> Any:
        self.send({"type": kind, **more})
        return self.read()

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
