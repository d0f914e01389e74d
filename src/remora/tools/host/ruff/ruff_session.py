"""Sandboxed process that runs ruff several times, because each start of a sandbox takes time."""

import functools
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.isolation import best_level
from remora.sandbox.process import ProcessResult
from remora.sandbox.supervisor_client import Command, start_supervised
from remora.tools.tree import ToolTree

MEMORY = 1 << 30
"""Bytes. For output of 64 MiB, more than which is not read, ruff needs half of it."""
_OUTPUT_LIMIT = 64 * 1024 * 1024
_CHUNK = 1 << 20
_SECONDS = 300.0
_GRACE_SECONDS = 1.0
_LOOP = """
import json, subprocess, sys
while head := sys.stdin.buffer.readline():
    words, size = json.loads(head)
    done = subprocess.run(words, input=sys.stdin.buffer.read(size), capture_output=True)
    sizes = [done.returncode, len(done.stdout), len(done.stderr)]
    sys.stdout.buffer.write(json.dumps(sizes).encode() + b"\\n" + done.stdout + done.stderr)
    sys.stdout.buffer.flush()
"""


class RuffStoppedError(HostError):
    """Ruff's process ended, did not answer, or said too much, so nothing is known about its text."""


class RuffSession:
    """A process that runs commands one after another in a folder."""

    def __init__(self, child: subprocess.Popen[bytes], level: int) -> None:
        assert child.stdin
        assert child.stdout
        self._input = child.stdin.fileno()
        self._output = child.stdout.fileno()
        self._received = bytearray()
        self._is_broken = False
        self._isolation = f"L{level}"

    def run(self, words: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
        """Run a command. Raises RuffStoppedError if the process ended or if the command takes too long.

        After an error, the session cannot be used any more.
        """
        if self._is_broken:
            raise RuffStoppedError("ruff's process stopped after an error")
        self._is_broken = True
        result = self._run(words, stdin, time.monotonic() + seconds)
        self._is_broken = False
        return result

    def _run(self, words: Sequence[str], stdin: bytes, until: float) -> ProcessResult:
        try:
            head = msgspec.json.encode([list(words), len(stdin)])
            unsent = memoryview(head + b"\n" + stdin)
            while unsent:
                unsent = unsent[os.write(self._input, unsent) :]
        except OSError:
            raise RuffStoppedError("ruff's process ended unexpectedly") from None
        while b"\n" not in self._received:
            self._receive(until)
        head, _, rest = bytes(self._received).partition(b"\n")
        code, out, err = msgspec.json.decode(head, type=tuple[int, int, int])
        if max(out, err) > _OUTPUT_LIMIT:
            raise RuffStoppedError("ruff's output is too large; check fewer files at once")
        self._received = bytearray(rest)
        while len(self._received) < out + err:
            self._receive(until)
        stdout, stderr = bytes(self._received[:out]), bytes(self._received[out : out + err])
        del self._received[: out + err]
        return ProcessResult(
            returncode=code,
            stdout=stdout,
            stderr=stderr,
            timed_out=False,
            truncated=False,
            isolation=self._isolation,
        )

    def _receive(self, until: float) -> None:
        ready = select.select([self._output], [], [], max(until - time.monotonic(), 0.0))[0]
        chunk = os.read(self._output, _CHUNK) if ready else b""
        if not chunk:
            raise RuffStoppedError("ruff's process ended unexpectedly or did not finish in time")
        self._received += chunk


@contextmanager
def start_session(folder: Path, seconds: float) -> Iterator[RuffSession]:
    """Start a process that runs ruff in a folder, and end it when the block exits.

    It may read only the folder and the programs. It is ended after `seconds`. Raises HostError if
    it cannot be started.
    """
    level = best_level()
    readable = (folder, ruff_binary(), Path(sys.prefix), Path(sys.base_prefix))
    command = Command(
        argv=(sys.executable, "-I", "-S", "-c", _LOOP),
        folder=folder,
        seconds=seconds,
        confinement=Confinement(read=readable),
        memory=MEMORY,
    )
    streams = (subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
    with start_supervised(command, level, streams) as (child, _):
        yield RuffSession(child, level)
        assert child.stdin
        child.stdin.close()
        with suppress(subprocess.TimeoutExpired):  # then it is killed
            child.wait(_GRACE_SECONDS)


_CURRENT: ContextVar[tuple[ToolTree, RuffSession] | None] = ContextVar("ruff_session", default=None)


def session_of(place: ToolTree) -> RuffSession | None:
    """Return the session that is open for a tree, or None."""
    current = _CURRENT.get()
    return current[1] if current is not None and current[0] is place else None


@contextmanager
def ruff_session(place: ToolTree) -> Iterator[None]:
    """Run all of ruff's commands for a tree in a single process in the block."""
    with start_session(place.tree, min(place.left(), _SECONDS)) as session:
        token = _CURRENT.set((place, session))
        try:
            yield
        finally:
            _CURRENT.reset(token)


@functools.cache
def ruff_binary() -> Path:
    """Return the path of the bundled ruff."""
    return Path(find_ruff_bin())
