"""The embedded server's process: started when first needed, watched, restarted once."""

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
_REMEMBERED_LINES = 20


class RunningServer(msgspec.Struct, frozen=True, kw_only=True):
    """One life of the server: its address, its key, and which life it is (from 1)."""

    address: str
    key: str
    start_number: int

    def __repr__(self) -> str:
        return f"Served(address={self.address!r}, life={self.start_number})"


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the child is told. `context` is tokens per slot, `slots` requests at one time."""

    weights: Path
    name: str
    context: int
    slots: int
    threads: int
    cache_mib: int

    def argv(self) -> list[str]:
        """The child's command line; nothing secret is in it."""
        words = msgspec.structs.asdict(self)
        options = [(f"--{k.replace('_', '-')}", str(v)) for k, v in words.items()]
        # -P: the current folder may be a stranger's project with an xllamacpp.py in it
        # by its file: the child needs nothing of this package, which takes 0.15 s to import
        start = [sys.executable, "-P", model_server.__file__]
        return start + [word for option in options for word in option]


class ServerProcess:
    """One child process. Every method may be called from any thread."""

    def __init__(self, options: ServerOptions, *, lives: int = 2) -> None:
        self._options = options
        self._lives = lives
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._served: RunningServer | None = None
        self._life = 0
        self._last_lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return None if self._child is None else self._child.pid

    def ensure_running(self) -> RunningServer:
        """The running server, started if it is not. Raises ModelError when its lives are spent."""
        with self._lock:
            if self._served is not None and self._alive():
                return self._served
            self._end()
            if self._life >= self._lives:
                raise self._spent()
            self._life += 1
            self._served = self._start()
            return self._served

    def has_ended(self, served: RunningServer) -> bool:
        """Whether that life is over (a moment is given to a child that is just dying)."""
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
        """End the child for good; may be called twice."""
        with self._lock:
            self._lives = 0
            self._end()

    def _alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _start(self) -> RunningServer:
        key = secrets.token_hex(32)
        try:
            child = subprocess.Popen(
                self._options.argv(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for us: the child goes when we close its input
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(f"cannot start the embedded model's server: {error}") from error
        self._child = child
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        threading.Thread(target=self._listen, args=(child.stderr,), daemon=True).start()
        address = ""
        # a child that is dead already has said why
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(key.encode("ascii") + b"\n")
            child.stdin.flush()
            address = _announced(child.stdout)
        if not address:
            self._end()
            raise ModelError(
                f"the embedded model's server did not start{self._said()}",
                hint="run `remora doctor`; a server of your own can be set as model.base_url",
            )
        return RunningServer(address=address, key=key, start_number=self._life)

    def _spent(self) -> ModelError:
        if not self._lives:
            return ModelError("the embedded model was closed and cannot be asked")
        return ModelError(
            f"the embedded model's server ended {self._life} times{self._said()}",
            hint="look at free memory; `remora model pull` checks the weights",
        )

    def _listen(self, noise: IO[bytes]) -> None:
        # the pipe must be drained, or the child would block once it is full
        with noise:
            for line in noise:
                self._last_lines.append(line.decode("utf-8", "replace").rstrip()[:300])

    def _said(self) -> str:
        lines = [line for line in self._last_lines if line]
        return f"; its last words: {lines[-1]}" if lines else ""

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
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _announced(stdout: IO[bytes]) -> str:
    """The address in the child's one line; empty if it ended or took too long."""
    readable, _, _ = select.select([stdout], [], [], _START_LIMIT_S)
    if not readable:
        return ""
    try:
        return str(json.loads(stdout.readline())["address"])
    except (ValueError, KeyError, TypeError):
        return ""
