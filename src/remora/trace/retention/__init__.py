"""What goes when streams grow old: contents that no stream names, and whole streams, on record."""

from remora.trace.retention.contents import Content, contents_of, names_in, remove_contents
from remora.trace.retention.expired import Expired, log_expired, read_expired
from remora.trace.retention.removal import (
    beside,
    compacting,
    held_stream,
    remove_leftovers,
    remove_stream,
)

__all__ = [
    "Content",
    "Expired",
    "beside",
    "compacting",
    "contents_of",
    "held_stream",
    "log_expired",
    "names_in",
    "read_expired",
    "remove_contents",
    "remove_leftovers",
    "remove_stream",
]
