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

LENGTH = 4
"""Bytes of the length before a request."""
STARTED = b"+"
"""What the process sends before it runs a command. Later it sends one byte, the exit code."""


def warm_socket() -> Path:
    """Return the socket of this installation's warm process. Raises ConfigError without a home."""
    return socket_path(UserFolders.of_this_process(), Path(sys.prefix), Path(__file__))


def mount_namespace() -> str:
    """Return the name of this process's mount namespace, or an empty string without namespaces."""
    try:
        return str(Path("/proc/self/ns/mnt").readlink())
    except OSError:
        return ""


def run_warm(args: Sequence[str]) -> int | None:
    """Run a command line in the warm process, with the streams of this one.

    Returns its exit code, or None if no process took it. Ctrl-C is passed on.
    """
    try:
        with socket.socket(socket.AF_UNIX) as process:
            process.connect(os.fspath(warm_socket()))
            _send(process, args)
            if process.recv(1) != STARTED:
                return None
            return _exit_code(process)
    except (OSError, ValueError, AttributeError, ConfigError):  # such as a closed stdin
        return None


def _send(process: socket.socket, args: Sequence[str]) -> None:
    request = {
        "args": list(args),
        "folder": str(Path.cwd()),
        "environ": dict(os.environ),
        "umask": _umask(),
        "encodings": [sys.stdin.encoding, sys.stdout.encoding, sys.stderr.encoding],
        "mounts": mount_namespace(),
    }
    body = json.dumps(request).encode()
    head = len(body).to_bytes(LENGTH, "big")
    streams = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]
    socket.send_fds(process, [head], streams)
    process.sendall(body)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _exit_code(process: socket.socket) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while True:
        try:
            answer = process.recv(1)
        except KeyboardInterrupt:
            process.shutdown(socket.SHUT_WR)
            continue
        if answer:
            return answer[0]
        sys.stderr.write("error: the daemon's process for checks ended; try again\n")
        return 3
