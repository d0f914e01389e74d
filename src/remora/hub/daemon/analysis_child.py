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
from math import ceil

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import NodeFacts
from remora.hub.daemon.child_process import begin, frame_message, limit_resource, receive_message
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
    limit_resource(resource.RLIMIT_CORE, 0)
    while answers is not None and (body := receive_message(sys.stdin.buffer)) is not None:
        path, source = msgspec.msgpack.decode(body, type=tuple[bytes, bytes])
        mib = ceil(len(source) / 2**20) or 1
        # even one C call may take too long: the system ends a process over its time
        limit_resource(resource.RLIMIT_CPU, int(time.process_time()) + CPU_S * mib)
        limit_resource(resource.RLIMIT_AS, min(limit, MEMORY * mib))
        facts = read_facts(os.fsdecode(path), source)
        for part in (msgspec.structs.replace(facts, nodes=()), *_portions(facts.nodes)):
            answers.write(frame_message(msgspec.msgpack.encode(part)))
        answers.flush()


def _portions(nodes: tuple[NodeFacts, ...]) -> Iterator[tuple[NodeFacts, ...]]:
    for first in range(0, len(nodes), _NODES):
        yield nodes[first : first + _NODES]
    yield ()
