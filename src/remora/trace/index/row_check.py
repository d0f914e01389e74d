"""Validation of index rows against the stream."""

from remora.errors import StreamDamaged
from remora.memory.events import GENESIS
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import (
    HASH_SUFFIX_SIZE,
    line_with_hash,
    stated_hash,
    valid_hash,
)
from remora.trace.index.rows import LinePlace


def ends_with_hash(source: ByteSource, offset: int, digest: str) -> bool:
    """Return True if the line that ends at byte `offset` has the hash `digest`.

    If `offset` is 0, `digest` must be GENESIS.
    """
    if offset == 0:
        return digest == GENESIS
    tail = line_with_hash(b"", digest)
    return offset >= len(tail) and source.pread(len(tail), offset - len(tail)) == tail


def line_at(source: ByteSource, place: LinePlace) -> bytes | None:
    """Return the line at `place`, or None if there is a different line at that position.

    Raises StreamDamaged if the line does not match its hash.
    """
    before = min(place.offset, HASH_SUFFIX_SIZE + 1)
    block = _read(source, before + place.size + 1, place.offset - before)
    raw = block[before : before + place.size]
    if block[before + place.size :] != b"\n" or stated_hash(raw) != place.hash:
        return None
    previous = stated_hash(block[: max(0, before - 1)]) if before else GENESIS
    if previous is None or valid_hash(raw, previous) is None:
        raise StreamDamaged(
            f"line {place.seq + 1} does not match its hash",
            hint="run `remora trace verify` for details",
        )
    return raw


def _read(source: ByteSource, count: int, offset: int) -> bytes:
    block = source.pread(count, offset)
    while len(block) < count and (more := source.pread(count - len(block), offset + len(block))):
        block += more
    return block
