"""The child process that finds links before anybody asks: one round, then it ends.

Its argument is the database, which it only reads. On its standard output come framed messages of
MessagePack: the Beginning; when `GO` came on its standard input, every Portion; and an empty one at
the end. It yields to everybody else, and ends early rather than take much memory: what it told is
kept, and the next one goes on from there.
"""

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import HubDamaged, RemoraError
from remora.hub.daemon.child_process import begin, framed, received
from remora.hub.daemon.health import memory_mb
from remora.hub.daemon.link_round import begin_round, find_links
from remora.hub.gc_tuning import collect_seldom

GO = b"go"
FULL, UNREADABLE, DAMAGED = 3, 4, 5
"""How it ends where it did not come to its end."""
MOST_MB = 600
"""Resident memory with which it goes on to the next file."""
ROOM_MB = 150
"""What it may take beside the project's files, however many these are."""
_LARGEST = 4 << 30  # bytes of address space: a file that needs more cannot be linked


def main() -> int:
    """One round."""
    messages = begin()
    if messages is None:
        return UNREADABLE
    os.nice(19)
    collect_seldom()
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_LARGEST, _LARGEST))
    try:
        about = begin_round(Path(sys.argv[1]))
        messages.write(framed(msgspec.msgpack.encode(about.beginning)))
        messages.flush()
        if received(sys.stdin.buffer) != GO:
            return 0
        most = max(MOST_MB, (memory_mb() or 0) + ROOM_MB)
        for portion in find_links(about):
            messages.write(framed(msgspec.msgpack.encode(portion)))
            messages.flush()
            if (memory_mb() or 0) > most:
                return FULL
    except HubDamaged:
        return DAMAGED
    except RemoraError:
        return UNREADABLE
    messages.write(framed(b""))
    messages.flush()
    return 0
