"""Becoming the command: from a fork of the supervisor to what it runs, limited and confined."""

from __future__ import annotations

import errno
import os
import resource
import select

from remora.sandbox.child import (
    bubblewrap,
    landlock,
    mount_view,
    namespaces,
    socket_filter,
    syscalls,
)
from remora.sandbox.child.command_record import (
    BUBBLEWRAP,
    LANDLOCK,
    LIMITS_ONLY,
    NAMESPACES,
    PRIVATE_FOLDERS,
    CommandRecord,
)
from remora.sandbox.child.signal_numbers import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FAILED = 255
_FIRST_TO_GO = b"1000"
_PROCESSES = 4096
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


class StartedChild:
    """The child's id; what went wrong, as `ERRNO WHAT`, WHAT empty where it was the command
    itself; and a descriptor that tells the code of a command whose child only stands for it."""

    def __init__(self, pid: int, problem: str, exit_code_reader: int) -> None:
        self.pid, self.problem, self.exit_code_reader = pid, problem, exit_code_reader


def start_command(order: CommandRecord) -> StartedChild:
    """Fork and become it. Returns when the command runs, or cannot."""
    failed, failing = os.pipe()
    exit_code_reader, telling = os.pipe()
    for name, step in _first_steps(order):
        try:
            step()
        except OSError as error:
            return StartedChild(0, f"{error.errno} {name}", exit_code_reader)
    child = os.fork()
    if child == 0:
        os.close(failed)
        os.close(exit_code_reader)
        _become(order, failing, telling)
    os.close(failing)
    os.close(telling)
    with os.fdopen(failed, "rb") as pipe:
        problem = pipe.read().decode()
    return StartedChild(child, problem, exit_code_reader)


def _first_steps(order: CommandRecord) -> Iterator[tuple[str, Callable[[], object]]]:
    """What must be done before there is a child, with a name for people."""
    if order.view_pid:
        yield "the view of the workspace", lambda: namespaces.join_namespaces_of(order.view_pid)
    if order.level == NAMESPACES:
        yield "a user namespace", lambda: namespaces.enter_user_namespace(processes=True)


def _become(order: CommandRecord, failing: int, telling: int) -> None:
    """Never returns."""
    name = ""
    try:
        for name, step in _steps(order, failing, telling):  # noqa: B007 - told of below
            step()
    except OSError as error:
        os.write(failing, f"{error.errno} {name}".encode())
    except Exception as error:  # noqa: BLE001 - nobody else would ever hear of it
        os.write(failing, f"{errno.EIO} {name} ({error!r})".encode())
    finally:
        os._exit(_FAILED)


def _steps(
    order: CommandRecord, failing: int, telling: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is done, with a name for people; the last one has none."""
    places = _places(order.command[0])
    yield "the process", lambda: _settle(failing)
    if order.level == NAMESPACES:
        yield "namespaces", namespaces.enter_other_namespaces
        yield "a root of its own", lambda: mount_view.build_root(order)
        yield "capabilities", syscalls.drop_capabilities
        yield "a first process", lambda: _stand_for_child(failing, telling)
    if order.level == BUBBLEWRAP:
        yield "layers over folders", lambda: bubblewrap.mount_scratch_layers(order)
    yield "limits", lambda: _limit(order)
    if order.level in {LANDLOCK, NAMESPACES} or (order.view_pid and order.level == LIMITS_ONLY):
        yield "capabilities", syscalls.drop_capabilities
    if order.level in {LANDLOCK, NAMESPACES}:
        yield "no new privileges", lambda: syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        network = order.level == NAMESPACES  # has one of its own
        yield "Landlock", lambda: landlock.restrict(_rules(order), network=network)
    if order.level == NAMESPACES:
        yield "a filter of sockets", socket_filter.install
    yield "", lambda: _run(order, places)


def _settle(failing: int) -> None:
    """A session of our own, which ends with our parent."""
    signals.set_wakeup_fd(-1)
    for number in (signals.SIGCHLD, signals.SIGINT, signals.SIGPIPE, signals.SIGXFSZ):
        signals.signal(number, signals.SIG_DFL)
    os.setsid()
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signals.SIGKILL)
    watched = select.poll()  # its id cannot be asked for from another process namespace
    watched.register(failing, 0)
    if watched.poll(0):  # nobody will ever read it: the parent ended before we said so
        os._exit(_FAILED)
    syscalls.join_new_keyring()
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, _FIRST_TO_GO)
        os.close(file)
    except OSError:
        pass  # where memory ends, the kernel chooses by size


def _stand_for_child(failing: int, telling: int) -> None:
    """Go on in a child. The first process of a namespace is what its signals do nothing to, so it
    is no command: it waits for one, and tells how it ended."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # nobody looks into it, not even at its descriptors
    child = os.fork()
    if child == 0:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        os.close(telling)
        os.setsid()
        return
    os.close(failing)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            os.write(telling, b"%d" % os.waitstatus_to_exitcode(status))
            os._exit(0)


def _limit(order: CommandRecord) -> None:
    if order.level == NAMESPACES:  # elsewhere all that the user runs would count
        _at_most(resource.RLIMIT_NPROC, _PROCESSES)
    for kind, wanted in (
        (resource.RLIMIT_CPU, order.cpu),
        (resource.RLIMIT_FSIZE, order.size),
        (resource.RLIMIT_AS, order.memory),
        (resource.RLIMIT_CORE, 0),
    ):
        _at_most(kind, wanted)


def _at_most(kind: int, wanted: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (value, value))


def _rules(order: CommandRecord) -> list[tuple[str, int]]:
    """What Landlock allows. In a root of its own a command sees only what it may read."""
    seen = ["/"] if order.level == NAMESPACES else order.read
    private = PRIVATE_FOLDERS if order.level == NAMESPACES else [order.temporary_folder]
    devices = ["/dev"] if order.level == NAMESPACES else _DEVICES
    return [
        *((path, landlock.READ) for path in seen),
        *((path, landlock.DEVICE) for path in devices),
        *((path, landlock.WRITE) for path in (*private, *order.write, *order.scratch)),
    ]


def _run(order: CommandRecord, places: list[str]) -> None:
    os.chdir(order.folder)
    command = bubblewrap.bubblewrap_argv(order) if order.level == BUBBLEWRAP else order.command
    problem = OSError(errno.ENOENT, "")
    for place in places:
        try:
            if order.level == BUBBLEWRAP:
                _check(place)
            os.execv(order.bwrap or place, command)  # noqa: S606 - a list, no shell
        except OSError as error:
            if problem.errno == errno.ENOENT:
                problem = error
    raise problem


def _places(command: str) -> list[str]:
    """Where it may be: found out before imports come to nothing, which this needs."""
    if "/" in command:
        return [command]
    return [f"{folder}/{command}" for folder in os.get_exec_path()]


def _check(place: str) -> None:
    """Raises OSError where no program is: bubblewrap would say so in words only."""
    if os.path.isdir(place) or not os.access(place, os.X_OK):
        raise OSError(errno.EACCES if os.path.lexists(place) else errno.ENOENT, place)
