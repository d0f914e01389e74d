"""Sandboxed processes that run ruff several times, because each start of a sandbox takes time."""

import functools
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.isolation import best_level
from remora.sandbox.process import ProcessResult
from remora.sandbox.supervisor_client import Command, start_supervised

MEMORY = 1 << 30
"""Bytes. For output of 64 MiB, more than which is not read, ruff needs half of it."""
_OUTPUT_LIMIT = 64 * 1024 * 1024
_CHUNK = 1 << 20
_MOST = 4
"""Maximum processes of a pool (decision)."""
_START_S = 0.1
"""Seconds to wait for a process before another one starts, which takes as long (measured)."""
_OLDEST = 900.0
"""Seconds after which a process is replaced, because its own time limit ends it later."""
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
    """Ruff's process ended, did not answer, or wrote too much output."""


class RuffProcess:
    """A process that runs commands one after another in a folder."""

    def __init__(self, child: subprocess.Popen[bytes], level: int) -> None:
        assert child.stdin
        assert child.stdout
        self._input = child.stdin.fileno()
        self._output = child.stdout.fileno()
        self._received = bytearray()
        self._is_broken = False
        self._isolation = f"L{level}"
        self.started_at = time.monotonic()
        self.opened = ExitStack()
        """Ends the process when it is closed, if it is one of a pool."""

    def run(self, words: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
        """Run a command. Raises RuffStoppedError if the process ended or if the command takes too long.

        After an error, the process cannot be used any more.
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
def start_process(folder: Path, seconds: float) -> Iterator[RuffProcess]:
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
        yield RuffProcess(child, level)


@functools.cache
def ruff_binary() -> Path:
    """Return the path of the bundled ruff."""
    return Path(find_ruff_bin())


class RuffProcesses:
    """Pool of processes in a folder, each for one thread at a time.

    They start when they are needed, and are kept until `close`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed = threading.Condition()
        self._idle: list[RuffProcess] = []
        self._used = 0
        self._is_closed = False

    @contextmanager
    def session(self, seconds: float) -> Iterator[RuffProcess]:
        """Yield a process that no other thread uses. It ends if the block raises.

        Waits at most `seconds` for one. Raises HostError if there is none, or if it cannot start.
        """
        process = self._take(seconds)
        try:
            if process is not None and time.monotonic() - process.started_at > _OLDEST:
                process.opened.close()
                process = None
            process = process or self._start()
            yield process
        except BaseException:
            self._give_back(process, is_sound=False)
            raise
        self._give_back(process, is_sound=True)

    def close(self) -> None:
        """End all processes. Those that are in use end when they are given back."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.opened.close()

    def _start(self) -> RuffProcess:
        with ExitStack() as stack:
            process = stack.enter_context(start_process(self._folder, seconds=2 * _OLDEST))
            process.opened = stack.pop_all()
            return process

    def _take(self, seconds: float) -> RuffProcess | None:
        """Return an idle process, or None if a new one is to be started."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._used, min(_START_S, seconds))
            if not self._changed.wait_for(lambda: self._idle or self._used < _MOST, seconds):
                raise HostError("ruff's processes did not finish in time")
            self._used += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, process: RuffProcess | None, *, is_sound: bool) -> None:
        with self._changed:
            self._used -= 1
            keeps = is_sound and not self._is_closed
            if process is not None and keeps:
                self._idle.append(process)
            self._changed.notify()
        if process is not None and not keeps:
            process.opened.close()
