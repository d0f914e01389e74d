"""The process of the embedded model's server.

It is started on first use and restarted at most once.
"""

import contextlib
import json
import os
import secrets
import select
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO

import msgspec

from remora.errors import ModelError
from remora.models.embedded import model_server

_START_LIMIT_S = 60.0
_END_LIMIT_S = 5.0
_KEPT_LINES = 20
_MAX_STARTS = 2


class RunningServer(msgspec.Struct, frozen=True, kw_only=True):
    """A running server."""

    address: str
    key: str
    start_number: int
    """Counts the starts of the server, beginning with 1."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(address={self.address!r}, start_number={self.start_number})"


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the child process."""

    weights: Path
    name: str
    context: int
    """Tokens per slot."""
    slots: int
    """Requests at once."""
    threads: int
    """Threads that read prompts."""
    writers: int = 1
    """Threads that write answers."""
    cache_mib: int
    """Size of the prompt cache, or 0 for none."""

    def argv(self) -> list[str]:
        """Return the child's command line. It does not contain the API key."""
        options = json.dumps({**msgspec.structs.asdict(self), "weights": str(self.weights)})
        # -P: the current folder may be an untrusted project that contains an xllamacpp.py
        # by path: the child does not need this package, which takes 0.15 s to import
        return [sys.executable, "-P", model_server.__file__, options]


class ServerProcess:
    """A model server in a child process. This class is thread-safe."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._max_starts = _MAX_STARTS
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._served: RunningServer | None = None
        self._starts = 0
        self._collector: threading.Thread | None = None
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)

    @property
    def pid(self) -> int | None:
        """The process ID of the child, or None if it is not running."""
        return None if self._child is None else self._child.pid

    def ensure_running(self) -> RunningServer:
        """Return the running server, starting it if necessary.

        Raises ModelError if it cannot be started or was already started the maximum number of
        times.
        """
        with self._lock:
            if self._served and self._child and self._child.poll() is None:
                return self._served
            self._end()
            if self._starts >= self._max_starts:
                raise self._no_more_starts()
            self._starts += 1
            self._served = self._start()
            return self._served

    def has_ended(self, served: RunningServer) -> bool:
        """Return True if `served` has exited. Waits briefly in case it is about to exit."""
        with self._lock:
            if self._served is not served:
                return True
            try:
                if self._child is not None:
                    self._child.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                return False
            return True

    def close(self) -> None:
        """Stop the child. Can be called more than once."""
        with self._lock:
            self._max_starts = 0
            self._end()

    def _start(self) -> RunningServer:
        key = secrets.token_hex(32)
        try:
            child = subprocess.Popen(
                self._options.argv(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C must not reach the child: it exits when its input closes
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(f"cannot start the embedded model's server: {error}") from error
        self._child = child
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        self._collector = threading.Thread(
            target=self._collect_lines, args=(child.stderr,), daemon=True
        )
        self._collector.start()
        address = ""
        # a child that has exited wrote the reason to stderr
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(key.encode("ascii") + b"\n")
            child.stdin.flush()
            address = _announced(child.stdout)
        if not address:
            self._end()
            raise ModelError(
                f"the embedded model's server did not start{self._last_line()}",
                hint="run `remora doctor`, or set model.base_url to a server",
            )
        return RunningServer(address=address, key=key, start_number=self._starts)

    def _no_more_starts(self) -> ModelError:
        if not self._max_starts:
            return ModelError("the embedded model is closed")
        return ModelError(
            f"the embedded model's server exited {self._starts} times{self._last_line()}",
            hint=f"check the free memory, and the weights with `remora model pull {self._options.name}`",
        )

    def _collect_lines(self, stderr: IO[bytes]) -> None:
        # drain the pipe, or the child would block once it is full
        with stderr:
            for line in stderr:
                self._last_lines.append(line.decode("utf-8", "replace").rstrip()[:300])

    def _last_line(self) -> str:
        if self._collector is not None:
            self._collector.join(timeout=1.0)
        lines = [line for line in self._last_lines if line]
        return f"; its last line: {lines[-1]}" if lines else ""

    def _end(self) -> None:
        child, self._child, self._served = self._child, None, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            child.wait(timeout=_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def usable_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _announced(stdout: IO[bytes]) -> str:
    """Return the address that the child printed, or an empty string if it exited or timed out."""
    readable, _, _ = select.select([stdout], [], [], _START_LIMIT_S)
    if not readable:
        return ""
    try:
        return str(json.loads(stdout.readline())["address"])
    except (ValueError, KeyError, TypeError):
        return ""
