"""Starting the command in a fork of the supervisor, with limits and confinement."""

from __future__ import annotations

import errno
import os
import resource
import select

from remora.sandbox.child import landlock, mount_view, syscall_filter, syscalls
from remora.sandbox.child.command_record import (
    BUBBLEWRAP,
    LANDLOCK,
    LIMITS_ONLY,
    NAMESPACES,
    PRIVATE_BYTES,
    PRIVATE_FOLDERS,
    CommandRecord,
)
from remora.sandbox.child.mount_view import enter_other_namespaces, enter_user_namespace
from remora.sandbox.child.syscalls import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BUBBLEWRAP = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


def bubblewrap_argv(record: CommandRecord) -> list[str]:
    """Return the `bwrap` command line that runs the command."""
    words = [record.bwrap, *_BUBBLEWRAP]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for path in PRIVATE_FOLDERS:
        words += ["--size", str(PRIVATE_BYTES), "--tmpfs", path]
    for path, target in record.links.items():
        words += ["--symlink", target, path]
    binds = [("--ro-bind", path) for path in record.read]
    binds += [("--bind", path) for path in (*record.write, *record.scratch)]
    for option, path in sorted(binds, key=lambda bind: bind[1]):
        words += [option, path, path]
    # root can write some files in /proc even without capabilities
    words += ["--remount-ro", "/proc", "--remount-ro", "/"]
    words += ["--seccomp", str(syscall_filter.filter_file())]
    return [*words, "--chdir", record.folder, "--", *record.command]


def mount_scratch_layers(record: CommandRecord) -> None:
    """Mount layers over the scratch folders, in a new mount namespace that `bwrap` inherits."""
    if not record.scratch:
        return
    enter_user_namespace(mounts=True)
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    for path in record.scratch:
        lower = os.open(path, os.O_PATH)
        syscalls.mount("tmpfs", path, "tmpfs", 0, f"size={PRIVATE_BYTES},mode=700")
        mount_view.mount_overlay(f"/proc/self/fd/{lower}", path, f"{path}/0")
        os.close(lower)


_FAILED = 255
_OOM_SCORE = b"1000"
_PROCESSES = 4096
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


class StartedChild:
    """The result of starting a child process.

    If the start failed, `problem` is `ERRNO WHAT`. If only the execution of the command failed,
    `problem` is `ERRNO ` without a description. If the child only waits for the command, the
    command's exit code can be read from `exit_code_reader`.
    """

    def __init__(self, pid: int, problem: str, exit_code_reader: int) -> None:
        self.pid, self.problem, self.exit_code_reader = pid, problem, exit_code_reader


def start_command(record: CommandRecord) -> StartedChild:
    """Start the command in a child process. Return once it is running or has failed to start."""
    problem_reader, problem_writer = os.pipe()
    exit_code_reader, exit_code_writer = os.pipe()
    if record.level == NAMESPACES:
        try:
            enter_user_namespace(processes=True)
        except OSError as error:
            return StartedChild(0, f"{error.errno} a user namespace", exit_code_reader)
    child = os.fork()
    if child == 0:
        os.close(problem_reader)
        os.close(exit_code_reader)
        _confine_and_execute(record, problem_writer, exit_code_writer)
    os.close(problem_writer)
    os.close(exit_code_writer)
    with os.fdopen(problem_reader, "rb") as pipe:
        problem = pipe.read().decode()
    return StartedChild(child, problem, exit_code_reader)


def _confine_and_execute(record: CommandRecord, problem_writer: int, exit_code_writer: int) -> None:
    """Confine this process and execute the command. Never returns."""
    name = ""
    try:
        for name, step in _steps(record, problem_writer, exit_code_writer):  # noqa: B007 - used below
            step()
    except OSError as error:
        os.write(problem_writer, f"{error.errno} {name}".encode())
    except Exception as error:  # noqa: BLE001 - the only way to report it
        os.write(problem_writer, f"{errno.EIO} {name} ({error!r})".encode())
    finally:
        os._exit(_FAILED)


def _steps(
    record: CommandRecord, problem_writer: int, exit_code_writer: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps after the fork. Each step has a name that is used in error messages.

    The last step executes the command. Its name is empty.
    """
    places = _places(record.command[0])
    yield "the process", lambda: _start_session(problem_writer)
    if record.level == NAMESPACES:
        yield "namespaces", enter_other_namespaces
        yield "a private root", lambda: mount_view.build_root(record)
        yield "capabilities", syscalls.drop_capabilities
        yield (
            "the first process of a namespace",
            lambda: _fork_and_wait(problem_writer, exit_code_writer),
        )
    if record.level == BUBBLEWRAP:
        yield "layers over scratch folders", lambda: mount_scratch_layers(record)
    yield "limits", lambda: _limit(record)
    if record.level in {LANDLOCK, NAMESPACES}:
        yield "capabilities", syscalls.drop_capabilities
        yield "no new privileges", lambda: syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        network = record.level == NAMESPACES  # it has its own network namespace
        yield "Landlock", lambda: landlock.restrict(_rules(record), network=network)
        yield "a system call filter", syscall_filter.install
    if record.level == LIMITS_ONLY:
        yield "", _try_filter
    yield "", lambda: _run(record, places)


def _try_filter() -> None:
    """Filter system calls, but not sockets, if this system can do it without privileges."""
    try:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscall_filter.install(sockets=False)
    except OSError:
        pass  # not Linux, or a machine type without a filter


def _start_session(problem_writer: int) -> None:
    """Start a new session, and have this process killed when its parent exits."""
    signals.set_wakeup_fd(-1)
    for number in (signals.SIGCHLD, signals.SIGINT, signals.SIGPIPE, signals.SIGXFSZ):
        signals.signal(number, signals.SIG_DFL)
    os.setsid()
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signals.SIGKILL)
    watched = select.poll()  # getppid does not work across PID namespaces
    watched.register(problem_writer, 0)
    if watched.poll(0):  # no reader: the parent exited before PDEATHSIG was set
        os._exit(_FAILED)
    syscalls.join_new_keyring()
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, _OOM_SCORE)
        os.close(file)
    except OSError:
        pass  # if memory runs out, the kernel then chooses a process by its size


def _fork_and_wait(problem_writer: int, exit_code_writer: int) -> None:
    """Fork and return only in the child. The parent waits for the child and then exits.

    The command must not be the first process of a PID namespace, because that process ignores most
    signals.
    """
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # the command cannot inspect this process
    child = os.fork()
    if child == 0:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        os.close(exit_code_writer)
        os.setsid()
        return
    os.close(problem_writer)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            os.write(exit_code_writer, b"%d" % os.waitstatus_to_exitcode(status))
            os._exit(0)


def _limit(record: CommandRecord) -> None:
    if record.level == NAMESPACES:  # at other levels the limit counts all processes of the user
        _at_most(resource.RLIMIT_NPROC, _PROCESSES)
    for kind, value in (
        (resource.RLIMIT_CPU, record.cpu),
        (resource.RLIMIT_FSIZE, record.size),
        (resource.RLIMIT_AS, record.address_space),
        (resource.RLIMIT_DATA, record.memory),
        (resource.RLIMIT_CORE, 0),
    ):
        _at_most(kind, value)


def _at_most(kind: int, maximum: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
    resource.setrlimit(kind, (value, value))


def _rules(record: CommandRecord) -> list[tuple[str, int]]:
    """Return the Landlock rules for the command.

    In a private root, everything is readable, because it contains only files that the command may
    read.
    """
    readable = ["/"] if record.level == NAMESPACES else record.read
    private = PRIVATE_FOLDERS if record.level == NAMESPACES else [record.temporary_folder]
    devices = ["/dev"] if record.level == NAMESPACES else _DEVICES
    return [
        *((path, landlock.READ) for path in readable),
        *((path, landlock.DEVICE) for path in devices),
        *((path, landlock.WRITE) for path in (*private, *record.write, *record.scratch)),
    ]


def _run(record: CommandRecord, places: list[str]) -> None:
    os.chdir(record.folder)
    command = bubblewrap_argv(record) if record.level == BUBBLEWRAP else record.command
    problem = OSError(errno.ENOENT, "")
    for place in places:
        try:
            if record.level == BUBBLEWRAP:
                _check(place)
            os.execv(record.bwrap or place, command)  # noqa: S606 - a list, no shell
        except OSError as error:
            if problem.errno == errno.ENOENT:
                problem = error
    raise problem


def _places(command: str) -> list[str]:
    """Return the possible paths of the command. Call this while modules can still be imported."""
    if "/" in command:
        return [command]
    return [f"{folder}/{command}" for folder in os.get_exec_path()]


def _check(place: str) -> None:
    """Raise OSError if `place` is not an executable file.

    Without this check, bubblewrap would only print an error message.
    """
    if os.path.isdir(place) or not os.access(place, os.X_OK):
        raise OSError(errno.EACCES if os.path.lexists(place) else errno.ENOENT, place)
