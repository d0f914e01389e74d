"""The Hub's database: one writer, any number of readers, and nothing in it that cannot be made anew."""

from remora.hub.store.batch import Applied, Batch, FileUpdate, packed
from remora.hub.store.foreign import is_foreign
from remora.hub.store.gone import gone_databases
from remora.hub.store.held import Clock
from remora.hub.store.hub_store import Counts, HubStore
from remora.hub.store.link_reading import LinkState, encode_reads, link_state
from remora.hub.store.link_writing import (
    Beginning,
    CarriedRow,
    LinkRow,
    LinkWriting,
    Portion,
    Unlinked,
)
from remora.hub.store.lowered_cache import LoweredCache
from remora.hub.store.reading import StoreView, open_view
from remora.hub.store.rows import FileRow

__all__ = [
    "Applied",
    "Batch",
    "Beginning",
    "CarriedRow",
    "Clock",
    "Counts",
    "FileRow",
    "FileUpdate",
    "HubStore",
    "LinkRow",
    "LinkState",
    "LinkWriting",
    "LoweredCache",
    "Portion",
    "StoreView",
    "Unlinked",
    "encode_reads",
    "gone_databases",
    "is_foreign",
    "link_state",
    "open_view",
    "packed",
]
