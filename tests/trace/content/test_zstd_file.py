"""Compressed contents: the same bytes by any tool, or a named error."""

import shutil
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import StreamDamaged
from remora.trace.content.byte_source import FileSource
from remora.trace.content.zstd_file import compressed, decompressed, decompressed_file
from tests.memory_limit import memory_limit

LINES = b"".join(b'{"line":%d,"text":"%d"}\n' % (n, n * 7919) for n in range(3000))


class Bytes:
    """A source in memory."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def size(self) -> int:
        return len(self.content)

    def pread(self, count: int, offset: int) -> bytes:
        return self.content[offset : offset + count]


def unpack(packed: bytes, limit: int = 1 << 30) -> bytes:
    return b"".join(decompressed(Bytes(packed), "it", limit))


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_the_content_is_what_it_was(pieces: list[bytes]) -> None:
    assert unpack(b"".join(compressed(pieces))) == b"".join(pieces)


def test_files_of_earlier_versions_are_read() -> None:
    """They have frames of 1 MiB, and a table of them in a skippable frame at the end."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    parts = [LINES[:40_000], LINES[40_000:]]
    frames = [compressor.compress(part) for part in parts]
    table = b"".join(
        struct.pack("<II", len(frame), len(part)) for frame, part in zip(frames, parts, strict=True)
    ) + struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    packed = b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table
    assert unpack(packed) == LINES
    with pytest.raises(StreamDamaged, match="it is truncated"):
        unpack(packed[: len(frames[0]) + 100])


@pytest.mark.process
@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_zstd_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"".join(compressed([LINES])))
    done = subprocess.run(["zstd", "-dc", tmp_path / "a.zst"], capture_output=True, check=True)
    assert done.stdout == LINES


def test_no_truncated_or_changed_file_is_read_as_a_whole() -> None:
    packed = b"".join(compressed([LINES]))
    for size in range(0, len(packed), 97):
        with pytest.raises(StreamDamaged, match="it is damaged"):
            unpack(packed[:size])
    for place in range(0, len(packed), 97):
        changed = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        with suppress(StreamDamaged):
            assert unpack(changed) == LINES, "only a bit without a meaning may change"


def test_a_small_file_that_declares_more_than_the_limit_is_not_unpacked() -> None:
    packed = b"".join(compressed(b"\0" * (1 << 20) for _ in range(400)))
    assert len(packed) < 100_000
    with memory_limit(40 << 20), pytest.raises(StreamDamaged, match="more than 1048576 bytes"):
        unpack(packed, 1 << 20)


def test_a_decompressed_file_can_be_read_anywhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"".join(compressed([LINES])))
    with (
        (tmp_path / "a").open("rb") as file,
        decompressed_file(FileSource(file.fileno()), "a") as plain,
    ):
        assert plain.size() == len(LINES)
        assert plain.pread(7, 1000) == LINES[1000:1007]
