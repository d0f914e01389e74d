"""Child process that analyzes large files while the daemon answers requests.

Its argument is its address-space limit in bytes. A file has `CPU_S` seconds of processor time and
`MEMORY` bytes for each MiB; the system ends the child if it takes longer. It reads framed MessagePack pairs of path and
source from standard input. For each pair, it writes the FileFacts without nodes, then the nodes in
portions, and then an empty portion. The nodes are split because decoding 100,000 nodes at once
would block the daemon. The child exits at the end of its input, or when its parent exits.
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from math import ceil

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import NodeFacts
from remora.hub.daemon.child_process import begin, frame_message, receive_message
from remora.hub.process.spawn import tune_gc

CPU_S = 20
"""Processor seconds for each MiB of a file, at least for one. Legitimate code takes one second."""
MEMORY = 512 << 20
"""Address space for each MiB of a file. Code takes 200 MiB, and a table of numbers 330."""
_NODES = 1000


def main() -> None:
    answers = begin()
    tune_gc()
    limit = int(sys.argv[1])
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while answers is not None and (body := receive_message(sys.stdin.buffer)) is not None:
        path, source = msgspec.msgpack.decode(body, type=tuple[bytes, bytes])
        _limit(ceil(len(source) / 2**20) or 1)
        facts = read_facts(os.fsdecode(path), source)
        for part in (msgspec.structs.replace(facts, nodes=()), *_portions(facts.nodes)):
            answers.write(frame_message(msgspec.msgpack.encode(part)))
        answers.flush()


def _limit(mib: int) -> None:
    """Limit the next file, even within one C call: a process over its time is ended."""
    limits = (
        (resource.RLIMIT_CPU, int(time.process_time()) + CPU_S * mib),
        (resource.RLIMIT_AS, MEMORY * mib),
    )
    for kind, wanted in limits:
        _, most = resource.getrlimit(kind)
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (limit, most))


def _portions(nodes: tuple[NodeFacts, ...]) -> Iterator[tuple[NodeFacts, ...]]:
    for first in range(0, len(nodes), _NODES):
        yield nodes[first : first + _NODES]
    yield ()
