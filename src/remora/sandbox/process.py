"""Isolated subprocesses with resource limits and a minimal environment."""

import os
import select
import selectors
import subprocess
import time

import msgspec

from remora.errors import DiskError
from remora.sandbox.isolation import best_level
from remora.sandbox.supervisor_client import GRACE_SECONDS, Command, read_report, start_supervised
from remora.threads import POLL_SECONDS, raise_if_cancelled

_MIB = 1024 * 1024
_CHUNK = 65536


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a subprocess.

    A `returncode` of -N means that the subprocess was killed by signal N. `isolation` is the level
    at which the subprocess ran. `truncated` is True if only the beginning of an output stream was
    kept.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    isolation: str


class ProcessExit(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a subprocess whose output was not captured. See ProcessResult for its fields."""

    returncode: int
    timed_out: bool
    isolation: str


def run_command(
    command: Command, *, output_limit: int = 8 * _MIB, stdin: bytes = b"", level: int | None = None
) -> ProcessResult:
    """Run a command until it exits or times out.

    `level` is the isolation level. The default is the best level of this machine. HOME and TMPDIR
    are empty private folders. All descendants are killed before this function returns, and also if
    this process is killed. Raises HostError if the command cannot be isolated or started.
    """
    used = best_level() if level is None else level
    streams = (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
    with start_supervised(command, used, streams) as (child, lifeline):
        pump = _Pump(child, lifeline.report_reader, stdin, output_limit)
        pump.run(time.monotonic() + command.seconds + GRACE_SECONDS)
    code, timed_out = read_report(command, used, bytes(pump.report))
    return ProcessResult(
        returncode=code,
        stdout=bytes(pump.stdout),
        stderr=bytes(pump.stderr),
        timed_out=timed_out,
        truncated=pump.truncated,
        isolation=f"L{used}",
    )


def run_attached(command: Command, *, stdout: int, level: int | None = None) -> ProcessExit:
    """Run a command like `run_command`, but without input, and copy its output at once.

    Its output goes to the file descriptor `stdout`, and its errors to standard error. The command
    gets pipes instead of these files, which it could otherwise read, truncate or control. Raises
    HostError if the command cannot be isolated or started, and DiskError if its output cannot be
    written.
    """
    used = best_level() if level is None else level
    streams = (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
    with start_supervised(command, used, streams) as (child, lifeline):
        assert child.stdout
        assert child.stderr
        targets = {child.stdout.fileno(): stdout, child.stderr.fileno(): 2}
        until = time.monotonic() + command.seconds + GRACE_SECONDS
        report = _copy_output(targets, lifeline.report_reader, until)
    code, timed_out = read_report(command, used, report)
    return ProcessExit(returncode=code, timed_out=timed_out, isolation=f"L{used}")


def _copy_output(targets: dict[int, int], report_reader: int, until: float) -> bytes:
    """Copy from the descriptors in `targets` until the command has ended, and return the report.

    Each descriptor is copied to its value. If that is a pipe whose reader has exited, the rest is
    discarded. Raises DiskError if the output cannot be written.
    """
    report, reading = b"", {report_reader, *targets}
    while reading and (seconds := until - time.monotonic()) > 0:
        for descriptor in select.select(reading, [], [], seconds)[0]:
            if not (chunk := os.read(descriptor, _CHUNK)):
                reading.remove(descriptor)
            elif descriptor == report_reader:
                report += chunk
            elif not _write_all(targets[descriptor], chunk):
                targets[descriptor] = -1
    return report


def _write_all(target: int, chunk: bytes) -> bool:
    """Write to a descriptor, and return False if it is negative or its reader has exited."""
    while target >= 0 and chunk:
        try:
            chunk = chunk[os.write(target, chunk) :]
        except BlockingIOError:  # another program has made the terminal non-blocking
            select.select([], [target], [])
        except BrokenPipeError:
            return False
        except OSError as error:
            raise DiskError(f"the output cannot be written: {error.strerror}") from error
    return target >= 0


class _Pump:
    """Copies data to and from a child's streams without deadlocks.

    At most `limit` bytes of each output are kept.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], report: int, stdin: bytes, limit: int
    ) -> None:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        self._stdin = child.stdin
        self._unsent = memoryview(stdin)
        self._limit = limit
        self._selector = selectors.DefaultSelector()
        self.truncated = False
        self.stdout, self.stderr, self.report = bytearray(), bytearray(), bytearray()
        self._sinks = {
            child.stdout.fileno(): self.stdout,
            child.stderr.fileno(): self.stderr,
            report: self.report,
        }

    def run(self, deadline: float) -> None:
        """Copy until all outputs are closed or the monotonic clock reaches `deadline`.

        Raises Cancelled if the work of this thread is cancelled.
        """
        with self._selector:
            for descriptor in self._sinks:
                self._selector.register(descriptor, selectors.EVENT_READ)
            os.set_blocking(self._stdin.fileno(), False)
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
            while self._sinks and (seconds := deadline - time.monotonic()) > 0:
                raise_if_cancelled()
                for key, _ in self._selector.select(min(seconds, POLL_SECONDS)):
                    if key.fileobj is self._stdin:
                        self._feed()
                    else:
                        self._drain(key.fd)

    def _feed(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent[:_CHUNK]) :]
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._selector.unregister(self._stdin)
            self._stdin.close()

    def _drain(self, descriptor: int) -> None:
        if not (chunk := os.read(descriptor, _CHUNK)):
            self._selector.unregister(descriptor)
            del self._sinks[descriptor]
            return
        sink = self._sinks[descriptor]
        free = self._limit - len(sink)
        sink += chunk[:free] if free < len(chunk) else chunk
        self.truncated = self.truncated or free < len(chunk)
