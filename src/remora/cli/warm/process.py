"""A process that has imported what `check` needs, and forks itself for each command.

A daemon starts it. It ends when its standard input ends, which means that the daemon has ended.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os.path import samestat
from pathlib import Path
from typing import Any, NoReturn

from remora.cli.app.entry import start
from remora.cli.warm.client import LENGTH, STARTED, warm_socket
from remora.errors import OutsideError
from remora.hub.process.socket_listener import Listener, is_ours
from remora.hub.process.spawn import FOLDER, command, environment

_WAIT_S = 3.0
"""Seconds before the imports, so that a daemon starts fast, and between two looks at the socket."""


@contextmanager
def warm_process(environ: Mapping[str, str]) -> Iterator[None]:
    """Keep a warm process until the block exits."""
    with subprocess.Popen(
        command("remora.cli.warm.process:serve"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=FOLDER,
        env=environment(environ),
        start_new_session=True,  # Ctrl-C must reach only the daemon
    ):
        yield


def serve() -> None:
    """Run commands until standard input ends."""
    listener = _listener()
    if listener is None:
        return
    gc.set_threshold(50_000)  # as `main` does
    _import_all()
    times = file_times()
    gc.collect()
    gc.freeze()  # collections would copy the pages that forks share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([0, listener.socket.fileno()], [], [])
        if 0 in ready:
            listener.close()
            return
        client, _ = listener.socket.accept()
        with client:
            client.setblocking(True)
            if file_times() != times:  # Remora was updated
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.execv(sys.executable, sys.orig_argv)  # noqa: S606 (our own command line)
            with suppress(OSError):  # no memory for a fork: the client runs by itself
                if is_ours(client) and os.fork() == 0:
                    listener.forget()
                    _run(client)


def _listener() -> Listener | None:
    """Return the socket once no other daemon's process has it, or None if standard input ends."""
    while not select.select([0], [], [], _WAIT_S)[0]:
        with suppress(OutsideError):
            return Listener(warm_socket())
    return None


def _import_all() -> None:
    import remora.cli.run.check
    import remora.cli.run.print_check  # noqa: F401
    from remora.bootstrap.operations import BUILT_IN
    from remora.json_schema import validator_class
    from remora.sandbox.isolation import best_level

    BUILT_IN.restorers  # noqa: B018 (loads the parts of all operations)
    validator_class()
    best_level()


def file_times() -> dict[Path, int]:
    """Return the time of the last change of the file of each imported module, in nanoseconds."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths = [Path(file) for file in files if file]
    return {path: path.stat().st_mtime_ns for path in paths if path.exists()}


def _run(client: socket.socket) -> NoReturn:
    """Run the command that a client sends, and exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        client.sendall(STARTED)
        head, (*streams, folder), _, _ = socket.recv_fds(client, LENGTH, 4)
        with client.makefile("rb") as file:
            request = json.loads(file.read(int.from_bytes(head, "big")))
        if samestat(
            Path(request["folder"]).stat(), os.fstat(folder)
        ):  # not so in another container
            _take_over(request, streams)
            threading.Thread(target=_interrupt_after, args=(client,), daemon=True).start()
            code = start(request["args"])
            sys.stderr.flush()
            client.sendall(bytes([code]))
    finally:
        os._exit(0)


def _take_over(request: Mapping[str, Any], streams: list[int]) -> None:
    """Make this process like that of the client."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    of_input, of_output, of_errors = request["encodings"]
    sys.stdin = os.fdopen(0, "r", encoding=of_input, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=of_output, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding=of_errors, closefd=False)
    os.umask(request["umask"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.argv[1:] = request["args"]


def _interrupt_after(client: socket.socket) -> None:
    """Interrupt this process when the client is interrupted, or ends."""
    client.recv(1)
    os.kill(os.getpid(), signal.SIGINT)
