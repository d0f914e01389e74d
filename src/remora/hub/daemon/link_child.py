"""Child process that runs one round of precomputing links.

Its argument is the path of the database, which it only reads. It writes framed MessagePack to
standard output. The first message is a RoundStart. After reading `GO` from standard input, the
child writes every Portion, and finally an empty message. It runs at the lowest priority. If it uses
too much memory, it exits early and the next child continues. If a portion takes far too much
processor time, the system ends the child.
"""

import os
import resource
import sys
import time
from pathlib import Path

import msgspec

from remora.errors import HubDamaged, RemoraError
from remora.hub.daemon.child_process import begin, frame_message, limit_resource, receive_message
from remora.hub.daemon.health import memory_mb
from remora.hub.daemon.link_round import PART_S, begin_round, find_links
from remora.hub.process.spawn import tune_gc

GO = b"go"
FULL, UNREADABLE, DAMAGED = 3, 4, 5
"""Exit codes of an unfinished round."""
MAX_MB = 600
"""Resident memory in MiB above which the child exits instead of continuing with the next file."""
EXTRA_MB = 150
"""MiB that the child may use in addition to the loaded project."""
_CPU_S = 5 * int(PART_S)
_ADDRESS_SPACE = 4 << 30  # bytes; a file that needs more address space cannot be linked


def _limit_cpu() -> None:
    """Limit the next portion, even within a step of the linker, which does not look at the time."""
    limit_resource(resource.RLIMIT_CPU, int(time.process_time()) + _CPU_S)


def main() -> int:
    if (messages := begin()) is None:
        return UNREADABLE
    os.nice(19)
    tune_gc()
    limit_resource(resource.RLIMIT_AS, _ADDRESS_SPACE)
    try:
        about = begin_round(Path(sys.argv[1]))
        messages.write(frame_message(msgspec.msgpack.encode(about.beginning)))
        messages.flush()
        if receive_message(sys.stdin.buffer) != GO:
            return 0
        limit = max(MAX_MB, (memory_mb() or 0) + EXTRA_MB)
        _limit_cpu()
        for portion in find_links(about):
            messages.write(frame_message(msgspec.msgpack.encode(portion)))
            messages.flush()
            if (memory_mb() or 0) > limit:
                return FULL
            _limit_cpu()
    except HubDamaged:
        return DAMAGED
    except RemoraError:
        return UNREADABLE
    messages.write(frame_message(b""))
    messages.flush()
    return 0
