"""The watcher where there is no inotify: watchfiles, believed only as far as it may be."""

import os
import threading
from pathlib import Path

import watchfiles

from remora.hub.watch.watcher_protocol import NOTHING_TOLD, Kind, Seen

_STEP_MS = 10
_DEBOUNCE_MS = 50
_END_S = 5.0


class WatchfilesWatcher:
    """Wakes whoever waits when something changed, and says that a sweep has to tell what.

    Watchfiles loses events without a word when the system's queue is full, so not even a marker
    that comes through proves that what happened before was told: it is never healthy. Where it
    fails, as it does on some names, nothing wakes any more, and sweeping goes on.
    """

    healthy = False

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._ended = threading.Event()
        self._error = ""
        self._readable, self._told = os.pipe()
        os.set_blocking(self._readable, False)
        os.set_blocking(self._told, False)
        self._thread = threading.Thread(target=self._listen, name="watchfiles", daemon=True)
        self._thread.start()

    @property
    def kind(self) -> Kind:
        return "sweep" if self._error else "watchfiles"

    @property
    def note(self) -> str:
        if self._error:
            return f"watchfiles ended: {self._error}"
        return "watchfiles may lose events: each answer sweeps first"

    def drain(self) -> Seen:
        with self._lock:
            if self._told < 0:
                return NOTHING_TOLD
            paths, self._paths = frozenset(self._paths), set()
            while self._woken():
                pass
        return Seen(paths, complete=False)

    def settled(self, timeout: float) -> bool:  # noqa: ARG002 (nothing it waited for would prove it)
        return False

    def fileno(self) -> int | None:
        return self._readable

    def close(self) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join(_END_S)
        with self._lock:
            os.close(self._readable)
            os.close(self._told)
            self._told = -1

    def _woken(self) -> bytes:
        try:
            return os.read(self._readable, 4096)
        except BlockingIOError:
            return b""

    def _listen(self) -> None:
        try:
            for changes in watchfiles.watch(
                self._root,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                stop_event=self._ended,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._take({path for _, path in changes})
        except BaseException as error:  # noqa: BLE001 (a panic of its Rust part is no Exception)
            self._error = f"{type(error).__name__}: {error}"
            self._take(set())

    def _take(self, changed: set[str]) -> None:
        start = f"{self._root}/"
        paths = {path.removeprefix(start) for path in changed if path.endswith(".py")}
        with self._lock:
            if self._told < 0:
                return
            self._paths |= paths
            try:
                os.write(self._told, b"\0")
            except BlockingIOError:  # it was told often enough
                return
