"""The KV index over all streams: a view that can be deleted, and is never believed blindly."""

from remora.trace.index.packets import PacketReader
from remora.trace.index.queries import prune, reindex, trace_queries

__all__ = [
    "PacketReader",
    "prune",
    "reindex",
    "trace_queries",
]
