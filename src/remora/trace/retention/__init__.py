"""What goes when streams grow old: contents that no stream names, and whole streams, on record."""

from remora.trace.retention.contents import Content, contents_of, names_in, remove_contents
from remora.trace.retention.expired import Expired, log_expired, read_expired
from remora.trace.retention.removal import (
    compacting,
    held_stream,
    quarantines,
    remove_leftovers,
    remove_stream,
)

__all__ = [
    "Content",
    "Expired",
    "compacting",
    "contents_of",
    "held_stream",
    "log_expired",
    "names_in",
    "quarantines",
    "read_expired",
    "remove_contents",
    "remove_leftovers",
    "remove_stream",
]
