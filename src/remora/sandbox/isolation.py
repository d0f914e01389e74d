"""Which level of isolation this machine gives: each is tried, once per process."""

import functools
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from remora.errors import ConfigError, HostError
from remora.sandbox import isolation_probe
from remora.sandbox.child.command_record import BUBBLEWRAP, LANDLOCK, LIMITS_ONLY, NAMESPACES
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.supervisor_client import Command, bubblewrap_path, read_report, start_supervised

SAFE_LEVEL = NAMESPACES
"""The isolation from which on a project's code runs without anybody's consent."""
LEVEL_NAMES = ("limits only", "Landlock", "namespaces and Landlock", "bubblewrap")
_SECONDS = 30.0
_HINTS = {
    LANDLOCK: "a kernel from 6.2 on, with landlock in its list of security modules (lsm=)",
    NAMESPACES: "Landlock, and user namespaces for everybody: sysctl user.max_user_namespaces and, "
    "where there are such, kernel.unprivileged_userns_clone=1 and "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, one that allows both them "
    "and mounting /proc",
    BUBBLEWRAP: "install bubblewrap (the package is called so), from 0.8 on",
}
_ONCE = threading.RLock()


class MissingLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A level that this machine does not give: what went wrong, and what would help."""

    level: int
    name: str
    problem: str
    hint: str


def best_level() -> int:
    """The highest level of which all that it promises was seen to hold here."""
    levels = (BUBBLEWRAP, NAMESPACES, LANDLOCK)
    return next((level for level in levels if not level_problem(level)), LIMITS_ONLY)


def missing_levels() -> Iterator[MissingLevel]:
    """The levels above, the next one first."""
    for level in range(best_level() + 1, BUBBLEWRAP + 1):
        yield MissingLevel(
            level=level, name=LEVEL_NAMES[level], problem=level_problem(level), hint=_HINTS[level]
        )


def require_level(least: int) -> None:
    """Raises ConfigError where this machine gives less."""
    if least > 0 and best_level() < least:
        lack = next(lack for lack in missing_levels() if lack.level == least)
        raise ConfigError(
            f"workspace.require_isolation asks for L{least}, and this machine gives "
            f"L{best_level()}: {lack.problem}",
            hint=lack.hint,
        )


def describe_level(level: int) -> str:
    """For people: whether subprocesses are isolated, and how."""
    return f"{'isolated' if level else 'not isolated'} (L{level}, {LEVEL_NAMES[level]})"


def level_problem(level: int) -> str:
    """Why this machine does not give a level; empty where it does."""
    with _ONCE:  # threads wait for the one that tries
        return _problem_of(level)


@functools.cache
def _problem_of(level: int) -> str:
    if level == BUBBLEWRAP and not bubblewrap_path():
        return "bwrap is not installed"
    try:
        with tempfile.TemporaryDirectory(prefix="remora-trial-") as made, ExitStack() as stack:
            said = _try(level, Path(made).resolve(), stack)
    except (HostError, OSError) as error:
        return str(error)
    return "" if said == "held" else f"a process at L{level} {said}"


def _try(level: int, made: Path, stack: ExitStack) -> str:
    """What a process at this level says that it could do."""
    inside, scratch, outside = (made / name for name in ("inside", "scratch", "outside"))
    for folder in (inside, scratch, outside):
        folder.mkdir()
    (outside / "secret").write_text("secret")
    (scratch / "seen").write_text("seen")
    port = _listen(outside, stack)
    words = [level, inside, scratch, outside, port, os.getpid()]
    command = Command(
        argv=(sys.executable, "-I", "-S", "-B", isolation_probe.__file__, *map(str, words)),
        folder=inside,
        seconds=_SECONDS,
        confinement=Confinement(
            read=(
                *interpreter_paths(Path(sys.executable), trusted=True),
                Path(isolation_probe.__file__),
            ),
            write=(inside,),
            scratch=(scratch,),
        ),
    )
    said = _said(command, level)
    if level >= NAMESPACES and (scratch / "seen").read_text() != "seen":
        return "changes what is only to be read"
    return said


def _listen(outside: Path, stack: ExitStack) -> int:
    """Something that answers, on all ways that lead to it; its port."""
    for address in (f"{outside}/socket", f"\0{outside}"):
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(address)
        local.listen()
    loopback = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    port: int = loopback.getsockname()[1]
    return port


def _said(command: Command, level: int) -> str:
    streams = (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
    with start_supervised(command, level, streams) as (child, lifeline):
        assert child.stdout
        assert child.stderr
        said, complained = child.stdout.read(), child.stderr.read()
        report = os.read(lifeline.report_reader, 4096)
    code, timed_out = read_report(command, level, report)
    if timed_out or code != 0:
        told_last = complained.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(told_last or f"a process at L{level} ended with {code}")
    return said.decode("utf-8", "replace").strip()
