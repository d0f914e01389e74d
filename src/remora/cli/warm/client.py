"""Runs a command in the warm process of a running daemon, which has imported everything."""

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from remora.config.user_folders import UserFolders
from remora.errors import ConfigError
from remora.hub.process.hub_paths import socket_path
from remora.hub.process.socket_listener import is_ours

LENGTH = 4
"""Bytes of the length before a request."""
STARTED = b"+"
"""What the process sends before the request. Later it sends one byte, the exit code."""
_START_S, _END_S = 2.0, 5.0
"""Seconds that the process has to answer, and to end a command after Ctrl-C."""
_INHERITED = ("/dev/fd/", "/self/fd/")


def warm_socket() -> Path:
    """Return the socket of this installation's warm process. Raises ConfigError without a home."""
    return socket_path(UserFolders.of_this_process(), Path(sys.prefix), Path(__file__))


def run_warm(args: Sequence[str]) -> int | None:
    """Run a command line in the warm process, with the streams of this one.

    Returns its exit code, or None if no process took it or if the process ended early. Ctrl-C is
    passed on.
    """
    try:
        with socket.socket(socket.AF_UNIX) as process:
            process.settimeout(_START_S)
            process.connect(os.fspath(warm_socket()))
            if not is_ours(process) or any(name in arg for arg in args for name in _INHERITED):
                return None
            if process.recv(1) != STARTED:
                return None
            process.settimeout(None)
            _send(process, args)
            return _exit_code(process)
    except (OSError, ValueError, AttributeError, ConfigError):  # such as a closed stdin
        return None


def _send(process: socket.socket, args: Sequence[str]) -> None:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    mask = os.umask(0o077)
    os.umask(mask)
    request = {
        "args": list(args),
        "folder": str(Path.cwd()),
        "environ": dict(os.environ),
        "umask": mask,
        "encodings": [stream.encoding for stream in streams],
    }
    body = json.dumps(request).encode()
    folder = os.open(".", os.O_RDONLY)
    try:
        files = [*(stream.fileno() for stream in streams), folder]
        socket.send_fds(process, [len(body).to_bytes(LENGTH, "big")], files)
    finally:
        os.close(folder)
    process.sendall(body)


def _exit_code(process: socket.socket) -> int | None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        answer = process.recv(1)
    except KeyboardInterrupt:
        process.shutdown(socket.SHUT_WR)
        process.settimeout(_END_S)
        try:
            answer = process.recv(1)
        except (KeyboardInterrupt, TimeoutError):
            return 130
        return answer[0] if answer else 130
    return answer[0] if answer else None
