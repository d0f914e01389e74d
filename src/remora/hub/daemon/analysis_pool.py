"""Analysis of large files in a child process, so that requests are not delayed.

Files are analyzed one at a time.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.hub.daemon.child_process import frame_message, read_message, start_child
from remora.hub.file_reader import facts_without_nodes

LIMIT_S = 120.0
"""Maximum seconds for one file. The child also limits its processor time."""
_GAVE_UP = "skipped: its analysis took too long or too much memory"
MEMORY_LIMIT = 2 << 30
"""Address-space limit of the child in bytes. A file that needs more is recorded as not analyzed."""
_ONLY_ONE = 256 * 1024
"""Bytes of a file after which the child is ended: its memory would count for the next file."""
_IDLE_S = 3.0  # seconds after which an idle child is ended; it holds about 50 MB
_facts = msgspec.msgpack.Decoder(FileFacts)
_nodes = msgspec.msgpack.Decoder(tuple[NodeFacts, ...])
_log = logging.getLogger("remora.hub")


class AnalysisPool:
    """Runs the analysis child, which is started on demand and stopped when idle."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._child: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._end: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    async def analyze(self, path: str, source: bytes) -> FileFacts:
        """Return the facts of the file at a raw path.

        If the child fails or times out, the facts contain no nodes.
        """
        async with self._turn:
            if self._end is not None:
                self._end.cancel()
            try:
                async with asyncio.timeout(LIMIT_S):
                    return await self._ask(path, source)
            except (OSError, EOFError, TimeoutError, msgspec.DecodeError) as error:
                await self._kill()
                _log.warning("%r could not be analyzed: %s", path, type(error).__name__)
                digest = sha256(source).hexdigest()
                return facts_without_nodes(path, digest, _GAVE_UP)
            except asyncio.CancelledError:
                await self._kill()
                raise
            finally:
                if len(source) > _ONLY_ONE:
                    self._release_child()
                self._end = asyncio.get_running_loop().call_later(_IDLE_S, self._release_child)

    async def close(self) -> None:
        if self._end is not None:
            self._end.cancel()
        await self._kill()

    async def _ask(self, path: str, source: bytes) -> FileFacts:
        child = await self._running_child()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(frame_message(msgspec.msgpack.encode((os.fsencode(path), source))))
        await child.stdin.drain()
        facts = _facts.decode(await read_message(child.stdout))
        nodes: list[NodeFacts] = []
        while portion := _nodes.decode(await read_message(child.stdout)):
            nodes += portion
            await asyncio.sleep(0)
        return msgspec.structs.replace(facts, nodes=tuple(nodes))

    async def _running_child(self) -> asyncio.subprocess.Process:
        if self._child is None or self._child.returncode is not None:
            self._child = await start_child(
                "remora.hub.daemon.analysis_child:main",
                str(MEMORY_LIMIT),
                self._environment,
                stderr=asyncio.subprocess.DEVNULL,
            )
        return self._child

    def _release_child(self) -> None:
        """Close the child's input, so that it exits. The next file will start a new child."""
        child, self._child = self._child, None
        if child is not None and child.stdin is not None:
            child.stdin.close()

    async def _kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
