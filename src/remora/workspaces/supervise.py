"""The small parent of one subprocess: it ends the whole process tree when told, or left alone.

Run by path in a bare interpreter (`python -I -S`), so it imports nothing of Remora. Arguments:
LIFELINE REPORT TIMEOUT_S CPU_S FILE_BYTES MEMORY_BYTES HOME COMMAND…; the command inherits
environment, folder and streams. LIFELINE is a descriptor that ends when the caller does. REPORT
gets one line: `done CODE`, `timeout CODE` or `failed ERRNO`.

As subreaper it stays the ancestor of every descendant, daemons and new sessions included.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 5.0
_START_FAILED = 255


def main(argv: list[str]) -> None:
    """Run the command, report, and leave no descendant behind."""
    lifeline, report = int(argv[1]), int(argv[2])
    for descriptor in (lifeline, report):
        os.set_inheritable(descriptor, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    limits = [int(argv[4]), int(argv[5]), int(argv[6])]
    child, problem = _start(argv[8:], limits)
    if problem:
        os.waitpid(child, 0)
        os.write(report, b"failed %d\n" % problem)
        return
    code, how = _watch(child, lifeline, wake, time.monotonic() + float(argv[3]))
    ended = _end_descendants(child)
    if code is None:
        code = ended.get(child, -signal.SIGKILL)
    if how == "orphaned":
        _remove(argv[7])
    else:
        os.write(report, f"{how} {code}\n".encode())


def _prctl(option: int, value: int) -> None:
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None:  # Linux only; elsewhere the process group is what can be ended
        call(option, value, 0, 0, 0)


def _start(command: list[str], limits: list[int]) -> tuple[int, int]:
    """The child's id and 0, or the errno for which it could not be started."""
    failed, failing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, limits, parent, failing)
    os.close(failing)
    with os.fdopen(failed, "rb") as pipe:
        said = pipe.read()
    return child, int(said or 0)


def _become(command: list[str], limits: list[int], parent: int, failing: int) -> None:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(_START_FAILED)
        cpu, size, memory = limits
        for kind, wanted in (
            (resource.RLIMIT_CPU, cpu),
            (resource.RLIMIT_FSIZE, size),
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_CORE, 0),
        ):
            _limit(kind, wanted)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores these
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606 - a list, no shell
    except OSError as error:
        os.write(failing, str(error.errno).encode())
    finally:
        os._exit(_START_FAILED)


def _limit(kind: int, wanted: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (value, value))


def _watch(child: int, lifeline: int, wake: int, deadline: float) -> tuple[int | None, str]:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None, "timeout"
        ready, _, _ = select.select([lifeline, wake], [], [], left)
        if lifeline in ready:
            return None, "orphaned"
        if wake in ready:
            os.read(wake, 4096)
        code = _reap().get(child)
        if code is not None:
            return code, "done"


def _reap() -> dict[int, int]:
    """Ended children and their codes; a signal's number is negative."""
    ended: dict[int, int] = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass
    return ended


def _end_descendants(child: int) -> dict[int, int]:
    """Kill until none is left; all are stopped first so that none can outrun us by forking."""
    ended: dict[int, int] = {}
    until = time.monotonic() + _KILL_SECONDS
    while _has_children() and time.monotonic() < until:
        stopped: set[int] = set()
        while new := _descendants() - stopped:
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            stopped |= new
        for pid in stopped or {-child}:
            _signal(pid, signal.SIGKILL)
        time.sleep(0.002)
        ended |= _reap()
    return ended


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _descendants() -> set[int]:
    """Live processes below us. Empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:  # noqa: PTH112, PTH208
        if name.isdigit():
            parent = _parent(name)
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting += below
        found.update(below)
    return found


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no pathlib: it costs 5 ms
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state == b"Z" else int(parent)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it has just ended, or is another user's
        os.kill(pid, number)


def _remove(home: str) -> None:
    import shutil

    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv)
