"""The Long Track on disk: append-only streams, and all that is read from them."""

from remora.trace.chain import Clock, Durability, Identity, utc_now
from remora.trace.emit import EventEmitter, JsonlEventEmitter, NullEventEmitter, TeeEmitter
from remora.trace.folder import TraceFolder
from remora.trace.global_log import GlobalLog
from remora.trace.objects import ObjectStore
from remora.trace.reader import (
    StreamInfo,
    last_event,
    list_streams,
    read_events,
    read_lines,
    stream_status,
)
from remora.trace.restore import FileAt, files_at, packet_at
from remora.trace.transcript import LlmConversationLogger, transcript
from remora.trace.writer import StreamWriter

__all__ = [
    "Clock",
    "Durability",
    "EventEmitter",
    "FileAt",
    "GlobalLog",
    "Identity",
    "JsonlEventEmitter",
    "LlmConversationLogger",
    "NullEventEmitter",
    "ObjectStore",
    "StreamInfo",
    "StreamWriter",
    "TeeEmitter",
    "TraceFolder",
    "files_at",
    "last_event",
    "list_streams",
    "packet_at",
    "read_events",
    "read_lines",
    "stream_status",
    "transcript",
    "utc_now",
]
