"""A proxy for PostgreSQL's socket that cuts the connection at a chosen moment."""

import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

Moment = Literal["before", "after"]
_SOCKET = ".s.PGSQL.5432"


class CuttingProxy:
    """Forwards all bytes, until the client sends a marked statement."""

    def __init__(self, server: Path) -> None:
        self._server = str(server / _SOCKET)
        self.folder = Path(tempfile.mkdtemp(prefix="cut-", dir="/tmp"))
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / _SOCKET))
        self._listening.listen()
        self._marks: list[tuple[bytes, Moment]] = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, mark: bytes, moment: Moment) -> None:
        """Cut the next connection on which the client sends `mark`."""
        self._marks.append((mark, moment))

    def close(self) -> None:
        self._listening.close()
        (self.folder / _SOCKET).unlink()
        self.folder.rmdir()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                client.close()
                continue
            link = _Link(client, server, self._moment_of)
            threading.Thread(target=link.run, daemon=True).start()

    def _moment_of(self, data: bytes) -> Moment | None:
        for number, (mark, moment) in enumerate(self._marks):
            if mark in data:
                del self._marks[number]
                self.cuts += 1
                return moment
        return None


class _Link:
    def __init__(
        self,
        client: socket.socket,
        server: socket.socket,
        moment_of: Callable[[bytes], Moment | None],
    ) -> None:
        self._client, self._server, self._moment_of = client, server, moment_of
        self._holds_answer = False

    def run(self) -> None:
        answers = threading.Thread(target=self._forward_answers, daemon=True)
        answers.start()
        with suppress(OSError):
            while data := self._client.recv(1 << 20):
                moment = self._moment_of(data)
                if moment == "before":
                    break
                self._holds_answer = moment == "after"
                self._server.sendall(data)
                if moment == "after":
                    answers.join()
                    break
        self._close()

    def _forward_answers(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(1 << 20):
                if self._holds_answer:
                    return
                self._client.sendall(data)

    def _close(self) -> None:
        for each in (self._client, self._server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
