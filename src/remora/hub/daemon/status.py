"""Status of the daemon and of its store."""

import os
from datetime import UTC, datetime

from remora.hub.daemon.updater import Updater
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.protocol import StatusResult
from remora.hub.store.hub_store import HubStore


class DaemonStatus:
    """Status of the daemon. `generation` must be updated after each write."""

    def __init__(self, store: HubStore, places: HubPaths, updater: Updater) -> None:
        self._store = store
        self._places = places
        self._counts = store.counts()
        self.generation = store.generation
        self._updater = updater
        self.http: str | None = None
        """The address of the HTTP server, or None without one."""

    def status(self) -> StatusResult:
        """Return the present status. During a write, the counts are those from before it."""
        sweep = self._updater.last_sweep
        if not self._updater.storing.locked():
            self._counts = self._store.counts()
        files, nodes = self._counts
        return StatusResult(
            running=True,
            pid=os.getpid(),
            root=display_path(self._places.root),
            db=display_path(self._places.db),
            socket=display_path(self._places.socket),
            files=files,
            nodes=nodes,
            generation=self.generation,
            watcher="sweep" if self._updater.watcher.note else "inotify",
            last_sweep=None if sweep is None else _rfc3339(sweep),
            http=self.http,
            token_file=None if self.http is None else display_path(self._places.token),
        )


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
