"""Processes with Remora already loaded, forked from a warm one."""

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

LIMIT_S = 50
FOR_FEW = ("remora.mcp", "remora.judges.gates.values_plugin", "remora.engines.queue_engine")
"""Modules that load large packages."""


class ForkedProcess:
    """A process that was forked from a warm one, used like one of `subprocess.Popen`."""

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self.pid = self._answer(None)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return its status, -N for a signal."""
        if self.returncode is None:
            self.returncode = self._answer(timeout)
            self._answers.close()
        return self.returncode

    def kill(self) -> None:
        """Kill it and what it started in its process group."""
        if self.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)

    def _answer(self, timeout: float | None) -> int:
        self._answers.settimeout(timeout)
        line = b""
        while not line.endswith(b"\n"):  # byte by byte: the next answer is for another call
            byte = self._answers.recv(1)
            assert byte, "the warm process has ended"
            line += byte
        return int(line)


class Warm:
    """The process from which others are forked."""

    def __init__(self) -> None:
        self._wishes, theirs = socket.socketpair()
        from tests.platform_facilities import PASSED_ON  # the script below finds no tests

        # sure of nothing that this environment sets: each fork brings its own
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={"PATH": os.environ["PATH"], **PASSED_ON},
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
        )
        theirs.close()

    def run(
        self, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], out: Path, err: Path
    ) -> int:
        """Run `remora ARGS...` or `SCRIPT.py ARGS...` to its end; its status, -N for a signal."""
        with Path(os.devnull).open("rb") as none, out.open("wb") as to, err.open("wb") as said:
            streams = [file.fileno() for file in (none, to, said)]
            process = self._start(argv, cwd, environ, streams)
        try:
            return process.wait(LIMIT_S)
        except TimeoutError:
            raise TimeoutError(f"{list(argv)} took more than {LIMIT_S} s") from None
        finally:
            process.kill()
            process.wait()

    def start_on_terminal(
        self, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], terminal: int
    ) -> ForkedProcess:
        """Start a program on a terminal, in our session: who is alone in one cannot be suspended."""
        return self._start(argv, cwd, environ, [terminal] * 3)

    def _start(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], streams: Sequence[int]
    ) -> ForkedProcess:
        answers, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._wishes, [b"+"], [theirs.fileno(), *streams])
        answers.sendall(json.dumps([list(argv), str(cwd), dict(environ)]).encode() + b"\n")
        return ForkedProcess(answers)

    def close(self) -> None:
        """Let it end."""
        self._wishes.close()
        self._process.wait()


@functools.cache
def warm() -> Warm:
    """The one of this process, started when it is first asked for."""
    server = Warm()
    atexit.register(server.close)
    return server


def _load() -> None:
    """Load what most commands use: what few use makes each fork dearer."""
    import importlib
    import pkgutil

    import remora

    # doctest loads it since Python 3.13, and `input` then asks otherwise than most commands do
    sys.modules["readline"] = None  # type: ignore[assignment]
    for module in pkgutil.walk_packages(remora.__path__, "remora."):
        if not module.name.startswith(FOR_FEW) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    del sys.modules["readline"]
    _look_at_machine()
    _read_agents()
    gc.freeze()


def _look_at_machine() -> None:
    """Find out what no command changes: how processes can be isolated, and ruff's rules."""
    from remora.sandbox.isolation import best_level
    from remora.tools.host.ruff.rules import all_rules

    best_level()
    all_rules()


def _read_agents() -> None:
    """Read the agents and the scripts of runs, which took half of a short command."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import remora
    from remora.agents.definition.agent import load_agents
    from remora.bootstrap.operations import BUILT_IN
    from tests.parsed_once import parse_each_text_once

    sys.path.pop(0)
    folders = (Path(__file__).parent / "step_lint", Path(remora.__path__[0], "operations"))
    # other tests check these; a check here would start threads, which no fork has
    parse_each_text_once(right=[path for each in folders for path in each.rglob("*.pym")])
    load_agents(Path("/nonexistent"), BUILT_IN)


def _next_wish() -> list[str] | None:
    """In a fork: what it is to run, with everything set up for it. In the server: None."""
    wishes = socket.socket(fileno=0)
    ends, end = socket.socketpair()  # written to at the end of each fork
    ends.setblocking(False)
    end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(end.fileno())
    answers: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([wishes, ends], [], [])
        if ends in ready:
            ends.recv(4096)
            _report_ends(answers)
        if wishes not in ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(wishes, 1, 4)
        if not data:
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (ends, end, *answers.values()):
                other.close()
            wishes.detach()
            return _read_wish(*descriptors)
        answers[pid] = socket.socket(fileno=descriptors[0])
        _answer(answers[pid], pid)
        for descriptor in descriptors[1:]:
            os.close(descriptor)


def _report_ends(answers: dict[int, socket.socket]) -> None:
    """Tell who asked for a fork how it ended."""
    for pid in list(answers):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with answers.pop(pid) as to:
                _answer(to, os.waitstatus_to_exitcode(status))


def _answer(to: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # who asked has ended
        to.sendall(b"%d\n" % number)


def _read_wish(answers_to: int, *streams: int) -> list[str]:
    with socket.socket(fileno=answers_to) as answers, answers.makefile("rb") as wish:
        argv, cwd, environ = json.loads(wish.readline())
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    _take_streams(streams)
    return list(argv)


def _take_streams(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        os.setpgid(0, 0)
    else:
        os.setsid()
    sys.stdin, sys.stdout = _text(0, "rb"), _text(1, "wb")
    sys.stderr = _text(2, "wb", errors="backslashreplace")


def _text(number: int, mode: str, errors: str = "surrogateescape") -> io.TextIOWrapper:
    binary = os.fdopen(number, mode, closefd=False)
    by_line = number == 2 or binary.isatty()
    return io.TextIOWrapper(binary, errors=errors, line_buffering=by_line)


def _run(argv: list[str]) -> int:
    """Run a program as Python would; its status."""
    program, *sys.argv[1:] = argv
    try:
        if program.endswith(".py"):
            sys.argv[0] = program
            runpy.run_path(program, run_name="__main__")
        else:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return _status(end)
    return 0


def _status(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    sys.stderr.write(f"{end.code}\n")
    return 1


def _end(status: int) -> None:
    """End as Python does, but for freeing all that was loaded: that copies most of the memory."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: nothing here is for a program to find
    _load()
    if wish := _next_wish():
        _end(_run(wish))
