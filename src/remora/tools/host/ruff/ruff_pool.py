"""Pool of sandboxed processes that run ruff in a folder, each for one thread at a time."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from remora.errors import HostError
from remora.tools.host.ruff.ruff_session import RuffSession, start_session

_MOST = 4
_OLDEST = 900.0
"""Seconds after which a process is replaced, because its own time limit ends it later."""


@dataclass(frozen=True)
class _Process:
    session: RuffSession
    opened: ExitStack
    at: float


class RuffPool:
    """Starts processes when they are needed, and keeps them until `close`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed = threading.Condition()
        self._idle: list[_Process] = []
        self._used = 0
        self._is_closed = False

    @contextmanager
    def session(self, seconds: float) -> Iterator[RuffSession]:
        """Yield a process that no other thread uses. It ends if the block raises.

        Waits at most `seconds` for one. Raises HostError if there is none, or if it cannot start.
        """
        process = self._take(seconds)
        try:
            process = process or self._start()
            yield process.session
        except BaseException:
            self._give_back(process, is_sound=False)
            raise
        self._give_back(process, is_sound=True)

    def close(self) -> None:
        """End all processes. Those that are in use end when they are given back."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.opened.close()

    def _start(self) -> _Process:
        with ExitStack() as stack:
            session = stack.enter_context(start_session(self._folder, seconds=2 * _OLDEST))
            return _Process(session, stack.pop_all(), time.monotonic())

    def _take(self, seconds: float) -> _Process | None:
        """Return an idle process, or None if a new one is to be started."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._idle or self._used < _MOST, seconds):
                raise HostError("ruff's processes did not finish in time")
            self._used += 1
            process = self._idle.pop() if self._idle else None
        if process is not None and time.monotonic() - process.at > _OLDEST:
            process.opened.close()
            return None
        return process

    def _give_back(self, process: _Process | None, *, is_sound: bool) -> None:
        with self._changed:
            self._used -= 1
            keeps = is_sound and not self._is_closed
            if process is not None and keeps:
                self._idle.append(process)
            self._changed.notify()
        if process is not None and not keeps:
            process.opened.close()
