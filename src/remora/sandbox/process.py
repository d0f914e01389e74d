"""Subprocesses with a scrubbed environment, limits and isolation, whose whole tree ends with them."""

import os
import select
import selectors
import subprocess
import time

import msgspec

from remora.sandbox.isolation import best_level
from remora.sandbox.supervisor_client import GRACE_SECONDS, Command, read_report, start_supervised

_MIB = 1024 * 1024
_CHUNK = 65536


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
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


class ProcessExit(msgspec.Struct, frozen=True, kw_only=True):
    """How a subprocess ended whose output was not kept; the fields are those of Finished."""

    returncode: int
    timed_out: bool
    isolation: str


def run_command(
    command: Command, *, output_limit: int = 8 * _MIB, stdin: bytes = b"", level: int | None = None
) -> ProcessResult:
    """Run a command to its end or its time, isolated as well as this machine can, or at `level`.

    HOME and TMPDIR are empty folders of its own. When this returns no descendant is alive; when
    this process is killed they end too. Raises HostError if it cannot be started or isolated.
    """
    held = best_level() if level is None else level
    streams = (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
    with start_supervised(command, held, streams) as (child, lifeline):
        pump = _Pump(child, lifeline.report_reader, stdin, output_limit)
        pump.run(time.monotonic() + command.seconds + GRACE_SECONDS)
    code, timed_out = read_report(command, held, bytes(pump.said))
    return ProcessResult(
        returncode=code,
        stdout=bytes(pump.stdout),
        stderr=bytes(pump.stderr),
        timed_out=timed_out,
        truncated=pump.truncated,
        isolation=f"L{held}",
    )


def run_attached(
    command: Command, *, stdout: int | None = None, level: int | None = None
) -> ProcessExit:
    """As `run_command`, but its output goes where ours goes, as it comes; there is no input.

    `stdout` is another descriptor for its standard output. Raises HostError likewise.
    """
    held = best_level() if level is None else level
    said = bytearray()
    with start_supervised(command, held, (subprocess.DEVNULL, stdout, None)) as (_, lifeline):
        until = time.monotonic() + command.seconds + GRACE_SECONDS
        while (left := until - time.monotonic()) > 0:
            if select.select([lifeline.report_reader], [], [], left)[0]:
                chunk = os.read(lifeline.report_reader, _CHUNK)
                if not chunk:
                    break
                said += chunk
    code, timed_out = read_report(command, held, bytes(said))
    return ProcessExit(returncode=code, timed_out=timed_out, isolation=f"L{held}")


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
