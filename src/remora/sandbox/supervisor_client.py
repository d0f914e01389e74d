"""Functions that start commands under a supervisor, which kills a command's whole process tree."""

import contextlib
import functools
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from remora import rmtree
from remora.errors import HostError
from remora.facilities import proc_path
from remora.sandbox import child
from remora.sandbox.child.command_record import (
    BUBBLEWRAP,
    NAMESPACES,
    PRIVATE_HOME,
    PRIVATE_TMP,
    encode_record,
)
from remora.sandbox.confinement import Confinement, resolve_paths

PATH = "/usr/local/bin:/usr/bin:/bin"
GRACE_SECONDS = 8.0
"""Maximum seconds that the supervisor takes to end a process tree."""
_FILE_BYTES = 1 << 30
_ADDRESS_SPACE = 1 << 34  # bytes; threaded tools reserve far more than they use
_BARE = """
import sys
for name, folder in zip(("remora", "remora.sandbox"), sys.argv[1:3]):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = [folder]
from remora.sandbox.child.supervisor import main
main(sys.argv[3:])
"""
_CHILD = Path(child.__file__).parent
_SUPERVISOR = [
    sys.executable,
    "-I",
    "-S",
    "-c",
    _BARE,
    str(_CHILD.parent.parent),
    str(_CHILD.parent),
]
"""Command line of the supervisor in a bare interpreter, which does not import parent packages."""
_REMOVER = str(Path(rmtree.__file__))

Streams = tuple[int | None, int | None, int | None]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command line with a time limit in seconds. It is not run by a shell."""

    argv: tuple[str, ...]
    folder: Path
    seconds: float
    confinement: Confinement
    environment: Mapping[str, str] = {}
    """Set in addition to PATH, HOME, TMPDIR and LANG."""
    memory: int = _ADDRESS_SPACE
    """Bytes that each of its processes may use, apart from files and shared memory."""
    cpu: int | None = None
    """Seconds of processor time of each process. None for what all cores have until the time limit.
    """


class Lifeline:
    """A pair of pipes to the supervisor.

    When the first pipe is closed, the supervisor kills the command's process tree. The second pipe
    carries the supervisor's report.
    """

    def __init__(self) -> None:
        self.child_end, self._open_end = os.pipe()
        self.report_reader, self.report_writer = os.pipe()

    def __enter__(self) -> "Lifeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.close_child_ends()
        self.end_tree()
        os.close(self.report_reader)

    def close_child_ends(self) -> None:
        """Close this process's copies of the supervisor's pipe ends.

        After this, the report pipe reaches end-of-file when the supervisor exits.
        """
        self.child_end, self.report_writer = _closed(self.child_end), _closed(self.report_writer)

    def end_tree(self) -> None:
        self._open_end = _closed(self._open_end)


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1


@functools.cache
def bubblewrap_path() -> str:
    """Return the path of `bwrap`, or an empty string if it is not installed.

    Only the system's program folders are searched.
    """
    return shutil.which("bwrap", path=PATH) or ""


@contextlib.contextmanager
def start_supervised(
    command: Command, level: int, streams: Streams
) -> Iterator[tuple[subprocess.Popen[bytes], Lifeline]]:
    """Start a command at the given level. Its process tree is killed when the block exits.

    Raises HostError if the command is invalid or cannot be started.
    """
    if not command.argv or any("\0" in word for word in command.argv):
        raise HostError(f"invalid command: {list(command.argv)!r}")
    with _temporary_folder(level) as spare, Lifeline() as lifeline:
        words = _words(command, level, lifeline, spare)
        child = _spawn(command, words, lifeline, _environment(command, spare), streams)
        with child:
            try:
                yield child, lifeline
            finally:
                lifeline.end_tree()
                _end(child)


@contextlib.contextmanager
def _temporary_folder(level: int) -> Iterator[str]:
    """Create a folder for home and temporary files.

    Yields an empty string if the level has private mounts for these files.
    """
    if level >= NAMESPACES:
        yield ""
        return
    with rmtree.temporary_folder("home-") as spare:
        for name in ("home", "temporary"):
            (spare / name).mkdir(mode=0o700)
        yield str(spare)


def _environment(command: Command, spare: str) -> dict[str, str]:
    home, temporary = (
        (f"{spare}/home", f"{spare}/temporary") if spare else (PRIVATE_HOME, PRIVATE_TMP)
    )
    ours = {"PATH": PATH, "HOME": home, "TMPDIR": temporary, "LANG": "C.UTF-8"}
    return ours | dict(command.environment)


def _words(command: Command, level: int, lifeline: Lifeline, spare: str) -> list[str]:
    paths = resolve_paths(command.confinement, command.folder)
    cpu = command.cpu or math.ceil(command.seconds * (os.cpu_count() or 1)) + 5
    values: dict[str, list[object]] = {
        "level": [level],
        "lifeline": [lifeline.child_end],
        "report": [lifeline.report_writer],
        "seconds": [command.seconds],
        "limit": [cpu, _FILE_BYTES, _ADDRESS_SPACE, command.memory],
        "folder": [str(command.folder.resolve())],
        "spare": [spare],
        "remover": [_REMOVER],
        "proc": [proc_path()],
        "bwrap": [bubblewrap_path() if level == BUBBLEWRAP else ""],
        "read": list(paths.read),
        "write": list(paths.write),
        "scratch": list(paths.scratch),
        "link": list(paths.links),
        "to": list(paths.links.values()),
    }
    return encode_record(values, command.argv)


def _spawn(
    command: Command,
    words: list[str],
    lifeline: Lifeline,
    environment: dict[str, str],
    streams: Streams,
) -> subprocess.Popen[bytes]:
    try:
        child = subprocess.Popen(
            [*_SUPERVISOR, *words],
            cwd=command.folder,
            env=environment,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            bufsize=0,
            pass_fds=(lifeline.child_end, lifeline.report_writer),
            start_new_session=True,  # this process handles the terminal's Ctrl-C
        )
    except OSError as error:
        raise HostError(f"cannot start a process in {command.folder}: {error.strerror}") from error
    lifeline.close_child_ends()
    return child


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def read_report(command: Command, level: int, report: bytes) -> tuple[int, bool]:
    """Parse the supervisor's report. Return the exit code, and whether the command timed out.

    Raises HostError if the command could not be isolated or started.
    """
    how, _, value = report.decode().strip().partition(" ")
    if how == "failed":
        number, _, stage = value.partition(" ")
        problem = os.strerror(int(number))
        if stage:
            raise HostError(
                f"cannot isolate {command.argv[0]} at L{level}: {stage}: {problem}",
                hint="run `remora doctor` to see what this machine supports",
            )
        raise HostError(f"cannot start {command.argv[0]}: {problem}")
    return int(value or -signal.SIGKILL), how != "done"
