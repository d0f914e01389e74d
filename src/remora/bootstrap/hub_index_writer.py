"""Open the Hub's database and its indexer for writing."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from remora.errors import HubLocked
from remora.hub.index.changed_facts import ScriptedAnalysis
from remora.hub.index.indexer import Indexer
from remora.hub.index.user_scripts import UserScripts
from remora.hub.members.members import Members
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPlaces
from remora.hub.store.hub_store import HubStore

_LOCKED_S = 10.0
"""How long somebody else who writes the database is waited for."""
_LOOK_S = 0.05


def open_store(places: HubPlaces) -> HubStore:
    """Raises HubLocked where another process writes, and DiskError."""
    return HubStore.open(places.db, root=places.root, clock=_now)


def store_when_free(places: HubPlaces) -> HubStore:
    """The database to write, for the daemon itself: a command that writes just now is waited for.

    Raises HubLocked where that takes too long, and DiskError.
    """
    found = _when_free(places, lambda: None)
    assert not isinstance(found, int)  # nobody was named
    return found


def store_or_daemon(places: HubPlaces) -> HubStore | int:
    """The database to write, or the id of the daemon that writes it.

    Who has it just now and is no daemon is waited for: a command that ends, or a daemon whose lock
    was removed and that begins anew. Raises HubLocked where that takes too long, and DiskError.
    """
    return _when_free(places, lambda: control.running(places))


def _when_free(places: HubPlaces, daemon: Callable[[], int | None]) -> HubStore | int:
    until = time.monotonic() + _LOCKED_S
    while (found := daemon()) is None:
        try:
            return open_store(places)
        except HubLocked:
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK_S)
    return found


def indexer_of(
    places: HubPlaces, store: HubStore, members: Members, analysis: ScriptedAnalysis
) -> Indexer:
    """With the project's own scripts."""
    return Indexer(
        places.root,
        store,
        members,
        analyse=analysis,
        extras=UserScripts(places.root),
        clock=_now,
    )


def _now() -> datetime:
    return datetime.now(UTC)
