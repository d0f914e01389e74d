"""Status of the daemon and of its store."""

import os
from datetime import UTC, datetime
from typing import Any

from remora.hub.daemon.updater import Updater
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.protocol import StatusResult
from remora.hub.store.hub_store import HubStore


class DaemonStatus:
    """Status of the daemon. `generation` must be updated after each write."""

    def __init__(self, store: HubStore, places: HubPaths) -> None:
        self._store = store
        self._places = places
        self._counts = store.counts()
        self.generation = store.generation
        self.updater: Updater
        self.http: str | None = None

    def changed_since(self, generation: int) -> dict[str, Any]:
        """Return the keys that changed after a generation, and whether the list is complete."""
        changed, complete = self._store.changed_since(generation)
        return {"generation": self.generation, "changed": changed, "complete": complete}

    def status(self) -> StatusResult:
        sweep = self.updater.last_sweep
        if not self.updater.storing.locked():
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
            watcher="sweep" if self.updater.watcher.note else "inotify",
            last_sweep=None if sweep is None else _rfc3339(sweep),
            http=self.http,
            token_file=None if self.http is None else display_path(self._places.token),
        )


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
