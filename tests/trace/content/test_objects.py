"""Content store: files are complete or absent, private, and checked when read."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import DiskError, NotFound, StreamDamaged, StreamError
from remora.trace.content.content_file import MAX_COMPRESSED_CONTENT
from remora.trace.content.objects import ObjectStore
from remora.trace.content.zstd_file import compressed
from remora.trace.trace_folder import TraceFolder


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
