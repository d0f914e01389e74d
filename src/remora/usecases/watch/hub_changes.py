"""The files that the Hub reports as changed."""

import select
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.hub.process.control import connect
from remora.hub.protocol import Changed, Subscribe
from remora.ids import file_of_key
from remora.usecases.hub.start_daemon import start_hub
from remora.usecases.hub.target import HubTarget

_PART = 1 << 16
_END_S = 5.0
_changed = msgspec.json.Decoder(Changed)


class HubChanges:
    """A subscription to the changes of a project, from the daemon of its Hub.

    If no daemon is running, one is started, which ends with this process.
    """

    def __init__(self, invocation: Invocation) -> None:
        """Subscribe. Raises OutsideError if the daemon cannot be started."""
        self._invocation = invocation
        self._own: list[subprocess.Popen[bytes]] = []
        self._received = b""
        self._socket = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, seconds: float) -> frozenset[str] | None:
        """Return the files with changes since the last call, after at most `seconds`.

        Returns None if any file may have changed, because the daemon was restarted.
        """
        until = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self._socket], [], [], max(0, until - time.monotonic()))
            if not ready:
                return frozenset()
            try:
                part = self._socket.recv(_PART)
            except OSError:
                part = b""
            if not part:
                self._socket.close()
                self._received = b""
                self._socket = self._connect()
                return None
            *lines, self._received = (self._received + part).split(b"\n")
            if files := frozenset(path for line in lines for path in _files_in(line)):
                return files

    def close(self) -> None:
        """Unsubscribe, and stop a daemon that was started for this subscription."""
        self._socket.close()
        for child in self._own:
            child.terminate()
        for child in self._own:
            try:
                child.wait(_END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _connect(self) -> socket.socket:
        self._own = [child for child in self._own if child.poll() is None]
        status = start_hub(self._invocation, HubTarget(), self._own)
        return connect(Path(status.socket), Subscribe())


def _files_in(line: bytes) -> list[str]:
    """Return the files of an event. The answer to the subscription has none."""
    try:
        changed = _changed.decode(line).changed
    except msgspec.DecodeError:
        return []
    return [file_of_key(key) for key in changed]
