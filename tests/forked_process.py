"""Processes with Remora already loaded, forked from a warm one.

Loading takes half a second and most commands a few hundredths. The warm process also knows what
its machine can isolate, and ruff's rules. What is forked here is a process of
its own in everything else: environment, folder, streams, signals, end. It gets what a process gets
that is started with nothing in its input.
"""

import atexit
import functools
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

LIMIT_S = 50


class Warm:
    """The process from which others are forked."""

    def __init__(self) -> None:
        # sure of nothing that this environment sets: each fork brings its own
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], out: Path, err: Path
    ) -> int:
        """Run `remora ARGS...` or `SCRIPT.py ARGS...` to its end; its status, -N for a signal."""
        try:
            return self._run(argv, cwd=cwd, environ=environ, out=out, err=err)
        except BaseException:  # its answers would be taken for those of the next command
            self._process.kill()
            warm.cache_clear()
            raise

    def _run(
        self, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], out: Path, err: Path
    ) -> int:
        wish = [list(argv), str(cwd), dict(environ), str(out), str(err)]
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wish).encode() + b"\n")
        self._process.stdin.flush()
        pid = self._answer()
        if not self._answers_within(LIMIT_S):
            os.killpg(pid, signal.SIGKILL)
            self._answer()
            raise TimeoutError(f"{list(argv)} took more than {LIMIT_S} s")
        return self._answer()

    def close(self) -> None:
        """Let it end; no fork is running."""
        if self._process.poll() is None:
            self._process.communicate()

    def _answers_within(self, seconds: float) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], seconds)[0])

    def _answer(self) -> int:
        # byte by byte: what a buffer had taken, `select` would not see
        line = b""
        assert self._process.stdout is not None
        while not line.endswith(b"\n"):
            byte = os.read(self._process.stdout.fileno(), 1)
            assert byte, "the warm process has ended"
            line += byte
        return int(line)


@functools.cache
def warm() -> Warm:
    """The one of this process, started when it is first asked for."""
    server = Warm()
    atexit.register(server.close)
    return server


def _load() -> None:
    import importlib
    import pkgutil

    import remora

    for module in pkgutil.walk_packages(remora.__path__, "remora."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _look_at_machine()
    gc.freeze()


def _look_at_machine() -> None:
    """Find out what no command changes: how processes can be isolated, and ruff's rules."""
    from remora.sandbox.isolation import best_level
    from remora.tools.host.ruff.rule_codes import all_rules

    best_level()
    all_rules()


def _next_wish() -> list[str] | None:
    """In a fork: what it is to run, with everything set up for it. In the server: None."""
    for line in sys.stdin.buffer:
        pid = os.fork()
        if pid == 0:
            return _become(*json.loads(line))
        os.write(1, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))
    return None


def _become(argv: list[str], cwd: str, environ: dict[str, str], out: str, err: str) -> list[str]:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, (path, mode) in enumerate(
        [(os.devnull, os.O_RDONLY), (out, flags), (err, flags)]
    ):
        opened = os.open(path, mode, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    return argv


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
