"""The Hub's database and its indexer, wired for whoever may write."""

from datetime import UTC, datetime

from remora.hub.access.places import HubPlaces
from remora.hub.actions.analyse import ScriptedAnalysis
from remora.hub.actions.own import OwnScripts
from remora.hub.indexer import Indexer
from remora.hub.members import Members
from remora.hub.store import HubStore


def open_store(places: HubPlaces) -> HubStore:
    """Raises HubLocked where another process writes, and DiskError."""
    return HubStore.open(places.db, root=places.root, clock=_now)


def indexer_of(
    places: HubPlaces, store: HubStore, members: Members, analysis: ScriptedAnalysis
) -> Indexer:
    """With the project's own scripts."""
    return Indexer(
        places.root,
        store,
        members,
        analyse=analysis,
        extras=OwnScripts(places.root),
        clock=_now,
    )


def _now() -> datetime:
    return datetime.now(UTC)
