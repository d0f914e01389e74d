"""Compressed contents: the same bytes by any tool, at any offset, or a named error."""

import shutil
import subprocess
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import StreamDamaged
from remora.trace.content import zstd_frames as module
from remora.trace.content.zstd_frames import FramesSource, compressed_frames


class Bytes:
    """A source in memory that counts the bytes read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.read = 0

    def size(self) -> int:
        return len(self.content)

    def pread(self, count: int, offset: int) -> bytes:
        found = self.content[offset : offset + count]
        self.read += len(found)
        return found


def pack(content: bytes, piece: int = 1 << 16) -> bytes:
    pieces = (content[at : at + piece] for at in range(0, len(content), piece))
    return b"".join(compressed_frames(pieces))


def lines(count: int) -> bytes:
    return b"".join(b'{"line":%d,"text":"%d"}\n' % (n, n * 7919) for n in range(count))


CONTENTS = st.lists(st.binary(max_size=40) | st.just(b"a line\n"), max_size=30).map(b"".join)


@given(content=CONTENTS, piece=st.integers(1, 50), at=st.integers(0, 300), count=st.integers(0, 99))
def test_any_part_of_it_is_what_it_was(
    content: bytes, piece: int, at: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FRAME_CONTENT", 16)
    source = FramesSource(Bytes(pack(content, piece)), "it")
    assert source.size() == len(content)
    assert source.pread(len(content) + 1, 0) == content
    assert source.pread(count, at) == content[at : at + count]


@given(content=CONTENTS, piece=st.integers(1, 50))
def test_how_it_was_cut_makes_no_difference(
    content: bytes, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FRAME_CONTENT", 16)
    assert pack(content, piece) == pack(content)


@pytest.mark.parametrize("content", [b"", b"x", lines(40), lines(200_000)])
def test_zstd_itself_gives_the_same_bytes(content: bytes, tmp_path: Path) -> None:
    tool = shutil.which("zstd")
    made = pack(content)
    plain = zstandard.ZstdDecompressor().stream_reader(made, read_across_frames=True).read()
    assert plain == content
    if tool is None:
        pytest.skip("the zstd command is not here; its library agrees")
    (tmp_path / "s.zst").write_bytes(made)
    done = subprocess.run([tool, "-dc", tmp_path / "s.zst"], capture_output=True, check=True)
    assert done.stdout == content


def test_a_read_touches_only_its_frames() -> None:
    content = lines(400_000)
    file = Bytes(pack(content))
    source = FramesSource(file, "it")
    frames = len(source._starts) - 1
    assert frames > 10
    file.read = 0
    assert source.pread(100, len(content) // 2) == content[len(content) // 2 :][:100]
    assert file.read < 2 * len(file.content) / frames
    before = file.read
    source.pread(100, len(content) // 2 + 100)
    assert file.read == before, "the frame that was read last is kept"


def test_frames_end_behind_lines_where_they_can() -> None:
    content = lines(100_000)
    starts = FramesSource(Bytes(pack(content)), "it")._starts
    assert len(starts) > 3
    assert all(content[start - 1 : start] == b"\n" for start in starts[1:])


def test_every_changed_byte_is_noticed_or_changes_nothing() -> None:
    content = lines(30)
    made = pack(content)
    unnoticed = 0
    for place in range(len(made)):
        for bit in (1, 0x80):
            changed = bytearray(made)
            changed[place] ^= bit
            try:
                source = FramesSource(Bytes(bytes(changed)), "it")
                assert source.pread(len(content) + 1, 0) == content
                unnoticed += 1
            except StreamDamaged:
                pass
    assert unnoticed < len(made) // 50


def test_every_cut_is_noticed() -> None:
    made = pack(lines(3))
    for length in range(len(made)):
        with pytest.raises(StreamDamaged, match="it is damaged"):
            FramesSource(Bytes(made[:length]), "it")


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1])
def test_what_claims_to_be_larger_than_a_frame_may_be_is_not_decompressed(size: int) -> None:
    frame = zstandard.ZstdCompressor().compress(bytes(size))
    table = module._ENTRY.pack(len(frame), size) + module._FOOTER.pack(1, 0, module._SEEKABLE)
    made = frame + module._HEADER.pack(module._SKIPPABLE, len(table)) + table
    if size <= module.MAX_FRAME_CONTENT:
        assert FramesSource(Bytes(made), "it").pread(size, 0) == bytes(size)
        return
    with pytest.raises(StreamDamaged, match="does not match its frames"):
        FramesSource(Bytes(made), "it")
    honest = module._ENTRY.pack(len(frame), module.MAX_FRAME_CONTENT)
    made = made.replace(table[: len(honest)], honest)
    with pytest.raises(StreamDamaged, match="frame 1 does not have the size"):
        FramesSource(Bytes(made), "it").pread(1, 0)


class Sparse:
    """A file that consists of a hole, and a table whose entries are a hole."""

    def __init__(self, count: int, frame_bytes: int) -> None:
        table = count * module._ENTRY.size
        header = module._HEADER.pack(module._SKIPPABLE, table + module._FOOTER.size)
        footer = module._FOOTER.pack(count, 0, module._SEEKABLE)
        end = frame_bytes + len(header) + table
        self.parts = {frame_bytes: header, end: footer}
        self.length = end + len(footer)
        self.read = 0

    def size(self) -> int:
        return self.length

    def pread(self, count: int, offset: int) -> bytes:
        self.read += count
        assert self.read < 1 << 20
        return self.parts.get(offset, bytes(count))


@pytest.mark.parametrize("frame_bytes", [0, 9 * 500_000_000])
def test_a_sparse_frame_table_is_not_read_as_a_whole(frame_bytes: int) -> None:
    with pytest.raises(StreamDamaged, match="does not match its frames"):
        FramesSource(Sparse(500_000_000, frame_bytes), "it")


def test_a_file_that_zstd_alone_made_has_no_table() -> None:
    with pytest.raises(StreamDamaged, match="table at its end is missing"):
        FramesSource(Bytes(zstandard.ZstdCompressor().compress(lines(9))), "it")
