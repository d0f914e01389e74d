"""Opens the Hub's database for writing."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from remora.errors import HubLocked
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.store.hub_store import HubStore

_LOCKED_S = 10.0
"""Seconds to wait for another process that writes the database."""
_LOOK_S = 0.05


def open_store(places: HubPaths) -> HubStore:
    """Open the database for writing.

    Raises HubLocked if the database is in use, and DiskError if it cannot be opened.
    """
    return HubStore(places.db, root=places.root, clock=lambda: datetime.now(UTC))


def store_when_free(places: HubPaths) -> HubStore:
    """Open the database for the daemon, after waiting for any command that is writing to it.

    Raises HubLocked after a timeout, and DiskError if the database cannot be opened.
    """
    found = _when_free(places, lambda: None)
    assert not isinstance(found, int)  # the callback never returns an id
    return found


def store_or_daemon(places: HubPaths) -> HubStore | int:
    """Open the database, or return the process ID of the daemon that writes to it.

    Waits for another command, or for a daemon that restarts after its lock was removed. Raises
    HubLocked after a timeout, and DiskError if the database cannot be opened.
    """
    return _when_free(places, lambda: control.running(places))


def _when_free(places: HubPaths, daemon: Callable[[], int | None]) -> HubStore | int:
    until = time.monotonic() + _LOCKED_S
    while (found := daemon()) is None:
        try:
            return open_store(places)
        except HubLocked:
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK_S)
    return found
