"""Replay of a stream, given as a file or as its events."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remora.memory import projection
from remora.memory.events import Event
from remora.memory.packet import DecisionPacket
from remora.trace.read.reader import read_events

Recorded = Event | Mapping[str, Any] | str | bytes


def replay(
    stream: str | os.PathLike[str] | Iterable[Recorded], *, strict: bool = True
) -> DecisionPacket:
    """Return the packet after the last event of a stream.

    `stream` is the path of a file, plain or compressed, or the stream's events, lines or dicts.
    Raises what `read_events` and `remora.memory.replay` raise. Hashes are not checked.
    """
    if isinstance(stream, (str, os.PathLike)):
        stream = read_events(Path(stream))
    return projection.replay(stream, strict=strict)
