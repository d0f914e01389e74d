"""The KV index over all streams: a view that can be deleted, and is never believed blindly."""

from remora.trace.index.keys import IndexKey, TraceKey, parse_key
from remora.trace.index.packets import PacketReader
from remora.trace.index.queries import Reindexed, prune, reindex, trace_queries

__all__ = [
    "IndexKey",
    "PacketReader",
    "Reindexed",
    "TraceKey",
    "parse_key",
    "prune",
    "reindex",
    "trace_queries",
]
