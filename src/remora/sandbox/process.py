"""Isolated subprocesses with resource limits and a minimal environment."""

import os
import selectors
import subprocess
import time

import msgspec

from remora.errors import HostError
from remora.sandbox.isolation import best_level
from remora.sandbox.supervisor_client import GRACE_SECONDS, Command, read_report, start_supervised
from remora.threads import POLL_SECONDS, raise_if_cancelled

_MIB = 1024 * 1024
_CHUNK = 65536


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a subprocess."""

    returncode: int
    """-N if the subprocess was killed by signal N."""
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    """True if only the beginning of an output stream was kept."""
    isolation: str
    """The level at which the subprocess ran."""

    def require_whole_output(self, program: str) -> None:
        """Raise HostError if only the beginning of an output stream was kept."""
        if self.truncated:
            kept = max(len(self.stdout), len(self.stderr)) >> 20
            raise HostError(f"{program} printed more than {kept} MiB")


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
