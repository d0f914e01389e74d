"""Blocking requests to a running daemon."""

import os
import socket
from pathlib import Path

import msgspec

from remora.errors import OutsideError
from remora.hub.protocol import Answer, Request, decode_answer, request_line
from remora.hub.server.socket_listener import is_ours

_PART = 1 << 16


def ask(place: Path, request: Request, *, seconds: float = 5.0) -> Answer:
    """Send a request to the daemon and return its answer.

    Raises OutsideError if the daemon belongs to another user, or if it does not respond within
    `seconds`.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(seconds)
            line.connect(os.fspath(place))
            if not is_ours(line):
                raise OutsideError(f"a process of another user is listening on {place}")
            line.sendall(request_line(request))
            return decode_answer(_line_of(line))
    except (OSError, msgspec.DecodeError) as error:
        raise OutsideError(f"no daemon is responding at {place}: {error}") from error


def _line_of(line: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        if not (part := line.recv(_PART)):
            raise ConnectionResetError("the connection was closed")
        received += part
    return bytes(received)
