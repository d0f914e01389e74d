"""Isolation levels that this machine supports. Each level is probed once per process."""

import functools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from remora.errors import ConfigError, HostError, UsageError
from remora.facilities import is_linux
from remora.rmtree import temporary_folder
from remora.sandbox import isolation_probe
from remora.sandbox.child.command_record import BUBBLEWRAP, LANDLOCK, LIMITS_ONLY, NAMESPACES
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.supervisor_client import Command, bubblewrap_path, read_report, start_supervised

SAFE_LEVEL = NAMESPACES
"""At this level and above, Remora runs a project's code without asking the user for consent."""
LEVEL_NAMES = ("limits only", "Landlock", "namespaces and Landlock", "bubblewrap")
_SECONDS = 30.0
_HINTS = {
    LANDLOCK: "use Linux 6.2 or later with landlock in its list of security modules (lsm=)",
    NAMESPACES: "enable Landlock and unprivileged user namespaces: sysctl user.max_user_namespaces "
    "and, where they exist, kernel.unprivileged_userns_clone=1 and "
    "kernel.apparmor_restrict_unprivileged_userns=0; a container must allow user namespaces and "
    "mounting /proc",
    BUBBLEWRAP: "install bubblewrap 0.8 or later",
}
_ONCE = threading.RLock()


class MissingLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A level that this machine does not support, with the reason and a hint."""

    level: int
    name: str
    problem: str
    hint: str


def best_level() -> int:
    """Return the highest level that passed its probe on this machine."""
    levels = (BUBBLEWRAP, NAMESPACES, LANDLOCK)
    return next((level for level in levels if not level_problem(level)), LIMITS_ONLY)


def missing_levels() -> Iterator[MissingLevel]:
    """Yield the levels above the best level, in ascending order."""
    for level in range(best_level() + 1, BUBBLEWRAP + 1):
        yield MissingLevel(
            level=level, name=LEVEL_NAMES[level], problem=level_problem(level), hint=_HINTS[level]
        )


def require_level(least: int) -> None:
    """Raise ConfigError if the best level of this machine is lower than `least`."""
    if least > 0 and best_level() < least:
        missing = next(level for level in missing_levels() if level.level == least)
        raise ConfigError(
            f"workspace.require_isolation is L{least}, but this machine supports only "
            f"L{best_level()}: {missing.problem}",
            hint=missing.hint,
        )


def check_consent(level: int, *, allowed: bool) -> None:
    """Raise UsageError if isolation is insufficient and the user has not consented."""
    if level < SAFE_LEVEL and not allowed:
        raise UsageError(
            f"this machine cannot isolate the project's code well enough to run its tests "
            f"(level L{level}, L{SAFE_LEVEL} required)",
            hint="`remora doctor` shows how to improve this; if you trust this project, add "
            "--allow-unsandboxed, or set workspace.allow_unsandboxed in your own configuration",
        )


def may_run_code(python: ProjectPython) -> bool:
    """Return True if a project's code may be run with its interpreter."""
    return python.trusted or (best_level() >= SAFE_LEVEL and not python.sees_home)


def check_home(root: Path, home: Path, *, allowed: bool) -> None:
    """Raise UsageError if the project contains the user's home folder.

    Tests could read everything in the home folder. `allowed` disables the check.
    """
    if home.is_relative_to(root) and not allowed:
        raise UsageError(
            f"the project {root} contains your home folder, which the tests could read",
            hint="run the tests in a smaller project, or add --allow-unsandboxed",
        )


def describe_level(level: int) -> str:
    """Describe a level, e.g. `isolated (L2, namespaces and Landlock)`."""
    return f"{'isolated' if level else 'not isolated'} (L{level}, {LEVEL_NAMES[level]})"


def level_problem(level: int) -> str:
    """Return why this machine does not support a level, or an empty string if the level is
    supported.
    """
    if level and not is_linux():
        return "this system has neither Landlock nor namespaces"
    with _ONCE:  # only one thread runs the probe
        return _problem_of(level)


@functools.cache
def _problem_of(level: int) -> str:
    if level == BUBBLEWRAP and not bubblewrap_path():
        return "bwrap is not installed"
    try:
        with temporary_folder("trial-") as folder, ExitStack() as stack:
            result = _run_probe(level, folder, stack)
    except (HostError, OSError) as error:
        return str(error)
    return "" if result == "held" else f"isolation at L{level} does not hold: a process {result}"


def _run_probe(level: int, folder_inside: Path, stack: ExitStack) -> str:
    """Run the probe at a level. Return `held`, or the forbidden actions that succeeded."""
    inside, scratch, outside = (folder_inside / name for name in ("inside", "scratch", "outside"))
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
    result = _probe_output(command, level)
    if level >= NAMESPACES and (scratch / "seen").read_text() != "seen":
        return "changes read-only files"
    return result


def _listen(outside: Path, stack: ExitStack) -> int:
    """Listen on a Unix socket, an abstract socket and a TCP port. Returns the TCP port."""
    for address in (f"{outside}/socket", f"\0{outside}"):
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(address)
        local.listen()
    loopback = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    port: int = loopback.getsockname()[1]
    return port


def _probe_output(command: Command, level: int) -> str:
    streams = (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
    with start_supervised(command, level, streams) as (child, lifeline):
        assert child.stdout
        assert child.stderr
        output, problem = child.stdout.read(), child.stderr.read()
        report = os.read(lifeline.report_reader, 4096)
    code, timed_out = read_report(command, level, report)
    if timed_out or code != 0:
        last_line = problem.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(last_line or f"a process at L{level} exited with code {code}")
    return output.decode("utf-8", "replace").strip()
