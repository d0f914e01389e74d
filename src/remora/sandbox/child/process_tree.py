"""Functions that find, kill and reap the descendants of this process."""

import os
import time

from remora.sandbox.child.syscalls import signals

_KILL_SECONDS = 5.0


def reap() -> dict[int, int]:
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


def end_descendants(child: int, proc: str) -> dict[int, int]:
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
        exit_codes |= reap()
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
