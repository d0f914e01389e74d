"""Seekable zstd compression.

The data is split into independent frames, followed by a frame table, so that any part can be read
without decompressing the rest. This is the seekable format of the zstd project: the table is a
skippable frame, and `zstd -d` restores the original content. See https://github.com/facebook/zstd,
`contrib/seekable_format`.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from io import BytesIO

import zstandard

from remora.errors import StreamDamaged
from remora.trace.content.byte_source import ByteSource

MAX_FRAME_CONTENT = 1 << 20
"""Maximum uncompressed bytes in one frame. A random read decompresses whole frames."""
_LEVEL = 3
_SKIPPABLE, _SEEKABLE = 0x184D2A5E, 0x8F92EAB1
_MIN_FRAME = 9  # bytes of the smallest zstd frame: magic, header and one block header
_TABLE_PIECE = 8192  # entries that are read at a time
_ENTRY, _HEADER, _FOOTER = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<IBI")


def compressed_frames(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the pieces, and yield the output in bounded memory.

    The output does not depend on how the input is split into pieces.
    """
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    entries = bytearray()
    for content in _cut_frames(pieces):
        frame = compressor.compress(content)
        entries += _ENTRY.pack(len(frame), len(content))
        yield frame
    count = len(entries) // _ENTRY.size
    yield _HEADER.pack(_SKIPPABLE, len(entries) + _FOOTER.size)
    yield bytes(entries) + _FOOTER.pack(count, 0, _SEEKABLE)


class FramesSource:
    """The decompressed content of a compressed file, as a ByteSource.

    A read decompresses only the frames that it needs, and the last frame is cached. Raises
    StreamDamaged if the file was not produced by `compressed_frames`. The message starts with
    `name`.
    """

    def __init__(self, file: ByteSource, name: str) -> None:
        self._file = file
        self._name = name
        # one item per frame and the end: where its content starts, and its place in the file
        self._starts, self._places = array("Q", [0]), array("Q", [0])
        self._read_table()
        self._cached_frame: tuple[int, bytes] = -1, b""

    def size(self) -> int:
        return self._starts[-1]

    def pread(self, count: int, offset: int) -> bytes:
        end = min(offset + count, self.size())
        if offset >= end:
            return b""
        whole = BytesIO()  # returns its buffer without a copy: a read may be 60 MB
        while offset < end:
            number = bisect_right(self._starts, offset) - 1
            start = self._starts[number]
            piece = self._read_frame(number)[offset - start : end - start]
            if not whole.tell() and offset + len(piece) == end:
                return piece
            offset += whole.write(piece)
        return whole.getvalue()

    def _read_frame(self, number: int) -> bytes:
        if self._cached_frame[0] == number:
            return self._cached_frame[1]
        place, end = self._places[number : number + 2]
        start, after = self._starts[number : number + 2]
        raw = self._file.pread(end - place, place)
        try:
            # checked first: zstd trusts the frame header
            if zstandard.frame_content_size(raw) != after - start:
                raise self._damage_error(
                    f"frame {number + 1} does not have the size given in the table"
                )
            content = zstandard.ZstdDecompressor().decompress(raw, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise self._damage_error(f"frame {number + 1}: {error}") from error
        self._cached_frame = number, content
        return content

    def _read_table(self) -> None:
        """Read the frame table, in bounded memory even if the file is sparse."""
        size = self._file.size()
        footer = self._file.pread(_FOOTER.size, max(0, size - _FOOTER.size))
        if len(footer) < _FOOTER.size:
            raise self._damage_error("it is truncated")
        count, descriptor, magic = _FOOTER.unpack(footer)
        end = size - (_HEADER.size + count * _ENTRY.size + _FOOTER.size)
        if magic != _SEEKABLE or descriptor != 0 or end < 0:
            raise self._damage_error("the frame table at its end is missing")
        header = self._file.pread(_HEADER.size, end)
        if header != _HEADER.pack(_SKIPPABLE, size - end - _HEADER.size):
            raise self._damage_error("its frame table has an invalid header")
        mismatch = self._damage_error("its frame table does not match its frames")
        if count * _MIN_FRAME > end:
            raise mismatch
        for frame, content in self._entries(end + _HEADER.size, size - _FOOTER.size):
            if frame > 2 * MAX_FRAME_CONTENT or not 0 < content <= MAX_FRAME_CONTENT:
                raise mismatch
            self._starts.append(self._starts[-1] + content)
            self._places.append(self._places[-1] + frame)
        if self._places[-1] != end:
            raise mismatch

    def _entries(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        step = _TABLE_PIECE * _ENTRY.size
        for place in range(start, end, step):
            piece = self._file.pread(min(step, end - place), place)
            yield from _ENTRY.iter_unpack(piece[: len(piece) // _ENTRY.size * _ENTRY.size])

    def _damage_error(self, what: str) -> StreamDamaged:
        return StreamDamaged(
            f"{self._name} is damaged: {what}", hint="`remora trace verify` shows what can be read"
        )


def _cut_frames(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of each frame.

    A frame is cut after the last newline in its second half, if there is one, so that few lines
    span two frames.
    """
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= MAX_FRAME_CONTENT:
            end = (
                buffer.rfind(b"\n", MAX_FRAME_CONTENT // 2, MAX_FRAME_CONTENT) + 1
                or MAX_FRAME_CONTENT
            )
            yield bytes(buffer[:end])
            del buffer[:end]
    if buffer:
        yield bytes(buffer)
