"""The child process that reads large files, so that the daemon can answer meanwhile.

On its standard input: for each file 4 bytes of length, then a MessagePack pair of path and source.
On its standard output likewise the FileFacts without nodes, then the nodes in portions, of which the
last is empty: a hundred thousand decoded at once would keep the daemon from answering. It ends when
its input does, and with its parent.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from remora.code.analysis import read_facts
from remora.code.facts import NodeFacts

_LENGTH = 4
_NODES = 1000
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer until end-of-file on standard input."""
    parent = os.getppid()
    _end_with_parent()
    if os.getppid() != parent:  # it was gone before the kernel knew what we wanted
        return
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints must not be taken for an answer
    while (body := _read(sys.stdin.buffer)) is not None:
        path, source = msgspec.msgpack.decode(body, type=tuple[bytes, bytes])
        facts = read_facts(os.fsdecode(path), source)
        for part in (msgspec.structs.replace(facts, nodes=()), *_portions(facts.nodes)):
            answers.write(framed(msgspec.msgpack.encode(part)))
        answers.flush()


def framed(body: bytes) -> bytes:
    """With its length before it."""
    return len(body).to_bytes(_LENGTH, "big") + body


def _portions(nodes: tuple[NodeFacts, ...]) -> Iterator[tuple[NodeFacts, ...]]:
    for first in range(0, len(nodes), _NODES):
        yield nodes[first : first + _NODES]
    yield ()


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else None


def _end_with_parent() -> None:
    """While a file is being parsed nobody reads the input: the kernel ends us then."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
