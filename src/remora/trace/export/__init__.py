"""Streams in the forms that other tools read: transcripts, spans, Inspect logs, training rows."""

from remora.trace.export.deliver import to_file, to_logs, to_receiver, to_stream
from remora.trace.export.formats import Format, Groups, Wish, pieces
from remora.trace.export.groups import RunGroup, all_groups, group_of_agent, group_of_run
from remora.trace.export.send import headers_from
from remora.trace.export.tally import Tally

__all__ = [
    "Format",
    "Groups",
    "RunGroup",
    "Tally",
    "Wish",
    "all_groups",
    "group_of_agent",
    "group_of_run",
    "headers_from",
    "pieces",
    "to_file",
    "to_logs",
    "to_receiver",
    "to_stream",
]
