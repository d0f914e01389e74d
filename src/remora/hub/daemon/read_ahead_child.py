"""Child process that reads and analyzes files during the daemon's initial scan.

Its argument is the project's root. It reads one framed MessagePack message from standard input: the
limit of a file in bytes, and the raw paths. It writes framed batches of `PreparedFile` without files
of more than `MAX_BYTES`, and exits after the last file, or when its parent exits.
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.hub.daemon.child_process import begin, frame_message, receive_message
from remora.hub.file_reader import Reader, facts_of, open_reader
from remora.hub.process.spawn import tune_gc
from remora.hub.store.batch import pack_update

MAX_BYTES = 64 * 1024
"""Size of a file above which it is not prepared."""
_BATCH_S = 0.05
_ADDRESS_SPACE = 2 << 30


class PreparedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file's content hash, its facts without IR, and its encoded IR. `path` is raw bytes."""

    path: bytes
    file_hash: str
    facts: bytes
    lowered: bytes


def main() -> None:
    messages = begin()
    tune_gc()
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    body = receive_message(sys.stdin.buffer)
    if messages is None or body is None:
        return
    limit, paths = msgspec.msgpack.decode(body, type=tuple[int, list[bytes]])
    with open_reader(Path(sys.argv[1]), limit) as reader:
        for batch in _batches(reader, paths):
            messages.write(frame_message(msgspec.msgpack.encode(batch)))
            messages.flush()


def _batches(reader: Reader, paths: list[bytes]) -> Iterator[list[PreparedFile]]:
    batch: list[PreparedFile] = []
    began = time.monotonic()
    for path in paths:
        with suppress(OSError):
            batch += _prepared(reader, os.fsdecode(path))
        if time.monotonic() - began > _BATCH_S:
            yield batch
            batch, began = [], time.monotonic()
    yield batch


def _prepared(reader: Reader, path: str) -> list[PreparedFile]:
    content = reader.read(path)
    if content.skipped or len(content.data) > MAX_BYTES:
        return []
    update = pack_update(facts_of(path, content), None)
    facts = msgspec.msgpack.encode(update.facts)
    return [PreparedFile(os.fsencode(path), content.file_hash, facts, update.lowered)]
