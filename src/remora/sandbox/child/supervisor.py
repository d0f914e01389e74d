"""Parent process of a command. It kills the command's process tree when the command exits.

It also kills the tree on request, after a timeout, or when the caller exits. Its arguments are an
encoded CommandRecord. `lifeline` is a pipe that reaches end-of-file when the caller closes it or
exits. The result is written to `report` as a single line: `done CODE`, `timeout CODE` or `failed
ERRNO WHAT`. The supervisor is a subreaper, so it remains the ancestor of every descendant,
including daemons and new sessions.
"""

import os
import select
import sys
import time

from remora.sandbox.child import syscalls
from remora.sandbox.child.command_record import BUBBLEWRAP, NAMESPACES, CommandRecord
from remora.sandbox.child.start import StartedChild, start_command
from remora.sandbox.child.syscalls import signals

_BY_SIGNAL = range(129, 129 + 64)

_KILL_SECONDS = 5.0


def main(words: list[str]) -> None:
    """Run the command, kill all its descendants, and report the result."""
    record = CommandRecord(words)
    for descriptor in (record.lifeline, record.report):
        os.set_inheritable(descriptor, False)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_up()
    started = start_command(record)
    if started.problem:
        os.write(record.report, f"failed {started.problem}\n".encode())
        return
    code, how = _watch(started.pid, record.lifeline, wake, time.monotonic() + record.seconds)
    exit_codes = _end_descendants(started.pid, record.proc)
    code = (
        exit_codes.get(started.pid, -signals.SIGKILL)
        if code is None
        else _command_code(record, started, code)
    )
    if how != "orphaned":
        os.write(record.report, f"{how} {code}\n".encode())
    elif record.temporary_folder:
        python = [sys.executable, "-I", "-S", record.remover, record.temporary_folder]
        os.execv(sys.executable, python)  # noqa: S606 - the caller cannot remove it any more


def _wake_up() -> int:
    """Return a file descriptor that becomes readable when a child exits."""
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signals.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signals.signal(signals.SIGCHLD, lambda *_: None)
    return wake


def _watch(child: int, lifeline: int, wake: int, deadline: float) -> tuple[int | None, str]:
    while True:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return None, "timeout"
        ready, _, _ = select.select([lifeline, wake], [], [], seconds)
        if lifeline in ready:
            return None, "orphaned"
        if wake in ready:
            os.read(wake, 4096)
        code = _reap().get(child)
        if code is not None:
            return code, "done"


def _command_code(record: CommandRecord, started: StartedChild, code: int) -> int:
    """Return the command's exit code.

    `code` is the exit code of the child, which may be a process that only waits for the command.
    """
    if record.level == NAMESPACES:
        return int(os.read(started.exit_code_reader, 16) or code)
    if record.level == BUBBLEWRAP and code in _BY_SIGNAL:
        return 128 - code
    return code


def _reap() -> dict[int, int]:
    """Reap all children that have exited, and return their exit codes, keyed by process ID.

    If a child was killed by a signal, its exit code is the negative signal number.
    """
    exit_codes: dict[int, int] = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if not os.WIFSTOPPED(status):  # a child can make this process its tracer
                exit_codes[pid] = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass
    return exit_codes


def _end_descendants(child: int, proc: str) -> dict[int, int]:
    """Kill all descendants, and return the exit codes of the children that were reaped.

    All descendants are stopped before they are killed, so that none of them can escape by forking.
    """
    exit_codes: dict[int, int] = {}
    until = time.monotonic() + _KILL_SECONDS
    while _has_children() and time.monotonic() < until:
        stopped: set[int] = set()
        while new := _descendants(proc) - stopped:
            for pid in new:
                _signal(pid, signals.SIGSTOP)
            stopped |= new
        for pid in stopped or {-child}:
            _signal(pid, signals.SIGKILL)
        time.sleep(0.002)
        exit_codes |= _reap()
    return exit_codes


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _descendants(proc: str) -> set[int]:
    """Return the IDs of all running descendants of this process.

    The result is empty if `proc` is not a folder.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir(proc) if os.path.isdir(proc) else []:
        if name.isdigit():
            parent = _parent(f"{proc}/{name}/stat")
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        direct = children.get(waiting.pop(), [])
        waiting += direct
        found.update(direct)
    return found


def _parent(path: str) -> int | None:
    try:
        with open(path, "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state == b"Z" else int(parent)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # it has ended or belongs to another user
