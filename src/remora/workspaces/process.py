"""Subprocesses with a scrubbed environment and limits, whose whole tree ends with them."""

import contextlib
import functools
import math
import os
import select
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from remora.errors import HostError
from remora.workspaces import supervise

PATH = "/usr/local/bin:/usr/bin:/bin"
MIB = 1024 * 1024
ISOLATION = "L0"
"""What is in force around every subprocess: limits only."""
_FILE_BYTES = 1024 * MIB
_MEMORY_BYTES = 16 * 1024 * MIB  # address space: threaded tools reserve far more than they use
_GRACE_SECONDS = 8.0  # the supervisor needs this long at most to end a tree
_CHUNK = 65536


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a subprocess ended.

    `returncode` is negative for a signal. `truncated`: a stream was longer than the limit and
    holds only its beginning. `isolation` is the level that was in force (`L0`: limits only).
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    isolation: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a subprocess ended whose output was not kept; the fields are those of Finished."""

    returncode: int
    timed_out: bool
    isolation: str


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    output_limit: int = 8 * MIB,
    stdin: bytes = b"",
    env_extra: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command (never a shell line) to its end or to `timeout_s` seconds.

    The environment is PATH, HOME (an empty folder of its own), LANG and `env_extra`, nothing
    else. When this returns no descendant is alive; when this process is killed they end too.
    Raises HostError if the command cannot be started.
    """
    streams = (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
    with _started(argv, cwd, timeout_s, env_extra, streams) as (child, lifeline):
        pump = _Pump(child, lifeline.said, stdin, output_limit)
        pump.run(time.monotonic() + timeout_s + _GRACE_SECONDS)
    code, timed_out = _told(argv, bytes(pump.said))
    return Finished(
        returncode=code,
        stdout=bytes(pump.stdout),
        stderr=bytes(pump.stderr),
        timed_out=timed_out,
        truncated=pump.truncated,
        isolation=ISOLATION,
    )


def run_attached(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    env_extra: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> Ended:
    """As `run`, but its output goes where ours goes, as it comes; there is no input.

    `stdout` is another descriptor for its standard output. Raises HostError if the command cannot
    be started.
    """
    streams = (subprocess.DEVNULL, stdout, None)
    said = bytearray()
    with _started(argv, cwd, timeout_s, env_extra, streams) as (_, lifeline):
        until = time.monotonic() + timeout_s + _GRACE_SECONDS
        while (left := until - time.monotonic()) > 0:
            if select.select([lifeline.said], [], [], left)[0]:
                chunk = os.read(lifeline.said, _CHUNK)
                if not chunk:
                    break
                said += chunk
    code, timed_out = _told(argv, bytes(said))
    return Ended(returncode=code, timed_out=timed_out, isolation=ISOLATION)


@contextlib.contextmanager
def _started(
    argv: Sequence[str],
    cwd: Path,
    timeout_s: float,
    env_extra: Mapping[str, str] | None,
    streams: tuple[int | None, int | None, int | None],
) -> Iterator[tuple[subprocess.Popen[bytes], "_Lifeline"]]:
    """The supervised command; whatever happens inside, its tree ends with the block."""
    if not argv or any("\0" in word for word in argv):
        raise HostError(f"not a command: {list(argv)!r}")
    home = tempfile.mkdtemp(prefix="remora-home-")
    environment = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8", **(env_extra or {})}
    try:
        with _Lifeline() as lifeline:
            limits = [math.ceil(timeout_s * _cores()) + 5, _FILE_BYTES, _MEMORY_BYTES]
            words = [lifeline.ends, lifeline.report, timeout_s, *limits, home, *argv]
            child = _spawn([str(word) for word in words], lifeline, cwd, environment, streams)
            with child:
                try:
                    yield child, lifeline
                finally:
                    lifeline.cut()
                    _end(child)
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Lifeline:
    """Two pipes: one whose end tells the supervisor that we are gone, one for its report."""

    def __init__(self) -> None:
        self.ends, self._held = os.pipe()
        self.said, self.report = os.pipe()

    def __enter__(self) -> "_Lifeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.given()
        self.cut()
        os.close(self.said)

    def given(self) -> None:
        """Close the supervisor's ends here, so that its end is an end of file."""
        self.ends, self.report = _closed(self.ends), _closed(self.report)

    def cut(self) -> None:
        """Tell the supervisor to end the tree."""
        self._held = _closed(self._held)


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1


def _spawn(
    words: list[str],
    lifeline: _Lifeline,
    cwd: Path,
    environment: dict[str, str],
    streams: tuple[int | None, int | None, int | None],
) -> subprocess.Popen[bytes]:
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", supervise.__file__, *words],
            cwd=cwd,
            env=environment,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            bufsize=0,
            pass_fds=(lifeline.ends, lifeline.report),
            start_new_session=True,  # a terminal's Ctrl-C is ours to handle
        )
    except OSError as error:
        raise HostError(f"cannot start a process in {cwd}: {error.strerror}") from error
    lifeline.given()
    return child


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


@functools.cache
def _cores() -> int:
    return os.cpu_count() or 1


class _Pump:
    """Moves a child's streams without deadlock; keeps at most `limit` bytes of each output."""

    def __init__(self, child: subprocess.Popen[bytes], said: int, stdin: bytes, limit: int) -> None:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        self._stdin = child.stdin
        self._left = memoryview(stdin)
        self._limit = limit
        self._selector = selectors.DefaultSelector()
        self.truncated = False
        self.stdout, self.stderr, self.said = bytearray(), bytearray(), bytearray()
        self._sinks = {
            child.stdout.fileno(): self.stdout,
            child.stderr.fileno(): self.stderr,
            said: self.said,
        }

    def run(self, deadline: float) -> None:
        """Until every output has ended, or `deadline` on the monotonic clock."""
        with self._selector:
            for descriptor in self._sinks:
                self._selector.register(descriptor, selectors.EVENT_READ)
            os.set_blocking(self._stdin.fileno(), False)
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
            while self._sinks and (left := deadline - time.monotonic()) > 0:
                for key, _ in self._selector.select(left):
                    if key.fileobj is self._stdin:
                        self._feed()
                    else:
                        self._drain(key.fd)

    def _feed(self) -> None:
        try:
            self._left = self._left[os.write(self._stdin.fileno(), self._left[:_CHUNK]) :]
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(self._stdin)
            self._stdin.close()

    def _drain(self, descriptor: int) -> None:
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            self._selector.unregister(descriptor)
            del self._sinks[descriptor]
            return
        sink = self._sinks[descriptor]
        room = self._limit - len(sink)
        sink += chunk[:room] if room < len(chunk) else chunk
        self.truncated = self.truncated or room < len(chunk)


def _told(argv: Sequence[str], said: bytes) -> tuple[int, bool]:
    """The supervisor's report: exit code, and whether time was up."""
    how, _, value = said.decode().strip().partition(" ")
    if how == "failed":
        raise HostError(f"cannot start {argv[0]}: {os.strerror(int(value))}")
    return int(value or -signal.SIGKILL), how != "done"
