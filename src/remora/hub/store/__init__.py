"""The Hub's database: one writer, any number of readers, and nothing in it that cannot be made anew."""

from remora.hub.store.batch import Applied, Batch, FileUpdate
from remora.hub.store.foreign import is_foreign
from remora.hub.store.held import Clock
from remora.hub.store.hub_store import Counts, HubStore
from remora.hub.store.reading import StoreView, open_view
from remora.hub.store.rows import FileRow

__all__ = [
    "Applied",
    "Batch",
    "Clock",
    "Counts",
    "FileRow",
    "FileUpdate",
    "HubStore",
    "StoreView",
    "is_foreign",
    "open_view",
]
