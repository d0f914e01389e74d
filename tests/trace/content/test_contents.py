"""Contents and lines: files are complete or absent, private, and checked when read."""

import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import DiskError, NotFound, StreamDamaged, StreamError
from remora.memory.events import GENESIS
from remora.trace.content import line_format as module
from remora.trace.content.byte_source import FileSource
from remora.trace.content.group_commit import GroupCommit
from remora.trace.content.line_format import (
    complete_lines,
    hashed_lines,
    iter_lines,
    last_line,
    line_hash,
    line_with_hash,
)
from remora.trace.content.objects import MAX_COMPRESSED_CONTENT, ObjectStore, run_all
from remora.trace.content.zstd_file import compressed, decompressed, temporary_copy
from remora.trace.trace_folder import TraceFolder
from tests.memory_limit import memory_limit


def stored(store: ObjectStore, digest: str) -> Path:
    return store.folder / digest[:2] / digest


@given(data=st.binary())
def test_a_content_is_found_by_its_hash(data: bytes, folder: TraceFolder) -> None:
    digest = folder.objects.put(data)
    assert folder.objects.put(data) == digest == sha256(data).hexdigest()
    assert folder.objects.get(digest) == data
    assert folder.objects.problem(digest) is None
    names = [path.name for path in stored(folder.objects, digest).parent.iterdir()]
    assert names.count(digest) == 1
    folder.objects.sync()


def test_only_the_owner_may_read_it(folder: TraceFolder) -> None:
    path = stored(folder.objects, folder.objects.put(b"secret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_temporary_file_stays(folder: TraceFolder) -> None:
    digest = folder.objects.put(b"x")
    path = stored(folder.objects, digest)
    assert list(path.parent.iterdir()) == [path]


def test_a_content_that_changed_is_not_returned(folder: TraceFolder) -> None:
    digest = folder.objects.put(b"as it was")
    stored(folder.objects, digest).write_bytes(b"as it is!")
    assert folder.objects.problem(digest) == "does not match its hash"
    with pytest.raises(StreamDamaged):
        folder.objects.get(digest)


def test_putting_again_corrects_a_file_that_a_power_cut_emptied(folder: TraceFolder) -> None:
    digest = folder.objects.put(b"content")
    stored(folder.objects, digest).write_bytes(b"")
    folder.objects.put(b"content")
    assert folder.objects.get(digest) == b"content"


@pytest.mark.parametrize("name", ["0" * 64, "../../etc/passwd", "", "ABC", "é" * 64])
def test_a_missing_content_is_not_found(name: str, folder: TraceFolder) -> None:
    with pytest.raises(NotFound):
        folder.objects.get(name)
    assert folder.objects.problem(name) is not None


@pytest.mark.parametrize("kind", ["file", "prefix", "store"])
def test_no_link_is_followed(kind: str, folder: TraceFolder, tmp_path: Path) -> None:
    digest = folder.objects.put(b"mine")
    path = {
        "file": stored(folder.objects, digest),
        "prefix": stored(folder.objects, digest).parent,
        "store": folder.objects.folder,
    }[kind]
    moved = path.rename(tmp_path / "elsewhere")
    path.symlink_to(moved)
    with pytest.raises(DiskError, match="link"):
        folder.objects.get(digest)
    with pytest.raises(DiskError, match="link"):
        folder.objects.put(b"mine")
    assert str(folder.objects.problem(digest)).startswith("cannot be read")


def test_after_a_failed_sync_none_is_believed(
    folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    folder.objects.put(b"content")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing)
        with pytest.raises(DiskError, match="Input/output"):
            folder.objects.sync()
    with pytest.raises(DiskError, match="Input/output"):
        folder.objects.sync()


def test_threads_share_a_store(folder: TraceFolder) -> None:
    contents = [f"content {n % 20}".encode() for n in range(100)]

    def put(data: bytes) -> str:
        digest = folder.objects.put(data)
        folder.objects.sync()
        return digest

    with ThreadPoolExecutor(8) as pool:
        digests = list(pool.map(put, contents))
    assert [folder.objects.get(digest) for digest in digests] == contents


def test_writing_again_renews_the_age(folder: TraceFolder) -> None:
    path = stored(folder.objects, folder.objects.put(b"mine"))
    os.utime(path, (0, 0))
    folder.objects.put(b"mine")
    assert path.stat().st_mtime > 1_000_000_000


def test_pieces_are_the_content_and_a_wrong_one_is_reported_at_the_end(folder: TraceFolder) -> None:
    content = os.urandom(3 << 20)
    digest = folder.objects.put(content)
    pieces = list(folder.objects.pieces(digest))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= 1 << 20
    stored(folder.objects, digest).write_bytes(content[:-1])
    with pytest.raises(StreamDamaged):
        list(folder.objects.pieces(digest))


def test_a_small_file_that_unpacks_to_more_than_was_ever_put_is_not_unpacked(
    folder: TraceFolder,
) -> None:
    megabyte = b"\0" * (1 << 20)
    count = MAX_COMPRESSED_CONTENT // len(megabyte) + 1
    digest = sha256(megabyte * count).hexdigest()
    path = stored(folder.blobs, digest)
    path.parent.mkdir()
    path.write_bytes(b"".join(compressed(megabyte for _ in range(count))))
    assert path.stat().st_size < 10_000
    with pytest.raises(StreamDamaged, match="when it is decompressed"):
        list(folder.blobs.pieces(digest))
    assert folder.blobs.problem(digest) == "does not match its hash"


def test_what_could_not_be_read_again_is_not_put(folder: TraceFolder) -> None:
    assert folder.blobs.get(folder.blobs.put(b"x" * MAX_COMPRESSED_CONTENT))[-1:] == b"x"
    with pytest.raises(StreamError, match="too large"):
        folder.blobs.put(b"x" * (MAX_COMPRESSED_CONTENT + 1))


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


def test_a_file_ends_with_its_frame() -> None:
    packed = b"".join(compressed([LINES]))
    for more in (b"x", packed, bytes(1000)):
        with pytest.raises(StreamDamaged, match="it is damaged: "):
            unpack(packed + more)
    with pytest.raises(StreamDamaged, match="it is truncated"):
        unpack(packed[:-1])


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


def test_a_stream_is_not_unpacked_to_far_more_than_streams_have() -> None:
    packed = b"".join(compressed([LINES, *(b"\0" * (1 << 20) for _ in range(300))]))
    with pytest.raises(StreamDamaged, match=f"more than {(64 << 20) + 100 * len(packed)} bytes"):
        list(decompressed(Bytes(packed), "it"))


def test_a_temporary_copy_can_be_read_anywhere() -> None:
    with temporary_copy([LINES]) as plain:
        assert plain.size() == len(LINES)
        assert plain.pread(7, 1000) == LINES[1000:1007]


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


@given(content=st.binary(max_size=60) | st.text("a\r\n\x0b\u2028\0", max_size=60).map(str.encode))
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_lines_are_what_newlines_alone_split(
    content: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK", block)
    monkeypatch.setattr(module, "_TAIL_BLOCK", block)
    with opened(tmp_path / "s", content) as file:
        found = list(iter_lines(FileSource(file)))
        last = last_line(FileSource(file))
    *ended, rest = content.split(b"\n")
    assert [line.raw for line in found] == ended + [rest] * bool(rest)
    assert [line.ended for line in found] == [True] * len(ended) + [False] * bool(rest)
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(content[line.offset :].startswith(line.raw) for line in found)
    assert last == (ended[-1] if ended else None)


def test_a_line_that_is_too_long_is_cut_in_memory_and_counted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 10)
    monkeypatch.setattr(module, "_CHUNK", 7)
    with opened(tmp_path / "s", b"a\n" + b"b" * 25 + b"\nc\n") as file:
        found = list(iter_lines(FileSource(file)))
    assert [(line.raw, line.size) for line in found] == [(b"a", 1), (b"b" * 10, 25), (b"c", 1)]
    assert [line.offset for line in found] == [0, 2, 28]


@given(content=st.text("a\n", max_size=40).map(str.encode), piece=st.integers(1, 9))
def test_lines_from_a_place_on_are_the_last_of_all(
    content: bytes, piece: int, tmp_path: Path
) -> None:
    with opened(tmp_path / "s", content) as file:
        every = list(iter_lines(FileSource(file)))
        for number, line in enumerate(every):
            rest = iter_lines(FileSource(file), line.offset, number, piece=piece)
            assert list(rest) == every[number:]
        assert list(complete_lines(FileSource(file))) == [line for line in every if line.ended]


def test_behind_a_line_that_is_not_right_none_is(tmp_path: Path) -> None:
    digest, stream, hashes = GENESIS, b"", []
    for body in (b'{"a":1', b'{"a":2', b'{"a":3'):
        digest = line_hash(digest, body)
        hashes.append(digest)
        stream += line_with_hash(body, digest)
    with opened(tmp_path / "s", stream) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == hashes
    with opened(tmp_path / "s", stream.replace(b'"a":2', b'"a":4')) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == [hashes[0], None, None]
    with opened(tmp_path / "s", stream[:-1]) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == [*hashes[:2], None]


class Slow:
    """A slow action that records what was there when it began."""

    def __init__(self) -> None:
        self.written = 0
        self.safe = 0
        self.acts = 0
        self.at_once = 0
        self.error: Exception | None = None

    def __call__(self) -> None:
        self.at_once += 1
        assert self.at_once == 1
        self.acts += 1
        began_with = self.written
        time.sleep(0.005)
        self.at_once -= 1
        if self.error is not None:
            raise self.error
        self.safe = began_with


@pytest.fixture
def slow() -> Slow:
    return Slow()


def test_alone_each_call_acts(slow: Slow) -> None:
    commit = GroupCommit(slow)
    for _ in range(3):
        commit.run()
    assert slow.acts == 3


def test_a_call_returns_after_an_action_that_began_later(slow: Slow) -> None:
    commit, lock = GroupCommit(slow), threading.Lock()

    def write_and_wait(_: int) -> bool:
        with lock:
            slow.written += 1
            mine = slow.written
        commit.run()
        return slow.safe >= mine

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(write_and_wait, range(320)))
    assert slow.acts < 320 / 4, "who waited at once did not share"


def test_a_failure_reaches_only_the_threads_that_shared_the_call(slow: Slow) -> None:
    commit = GroupCommit(slow)
    slow.error = OSError(5, "Input/output error")
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(commit.run) for _ in range(8)]
        assert {type(done.exception()) for done in waiting} == {OSError}
    slow.error = None
    commit.run()


def test_all_acts_end_before_a_failure_is_reported() -> None:
    ended: list[int] = []

    def act(number: int) -> Callable[[], None]:
        def work() -> None:
            if number == 0:
                raise OSError(5, "Input/output error")
            time.sleep(0.01)
            ended.append(number)

        return work

    with pytest.raises(OSError, match="Input/output"):
        run_all([act(number) for number in range(6)])
    assert sorted(ended) == [1, 2, 3, 4, 5]


def test_acts_run_side_by_side() -> None:
    meeting = threading.Barrier(4, timeout=10)

    def meet() -> None:
        meeting.wait()

    run_all([meet] * 4)
