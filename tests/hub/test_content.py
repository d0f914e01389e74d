"""Reading a file whole, with a stamp that belongs to its bytes."""

import os
import time
from pathlib import Path

import pytest

from remora.hub.content import reading
from remora.hub.stamp import stamp_of


def test_a_young_file_has_no_stamp_that_proves_anything(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")

    with reading(tmp_path) as reader:
        assert reader.read("a.py") == (b"x = 1\r\n", None)


def test_an_old_file_has_its_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "folder" / "a.py"
    place.parent.mkdir()
    place.write_bytes(b"x = 1\n")
    later = time.time_ns() + 10_000_000_000
    monkeypatch.setattr("remora.hub.content.time.time_ns", lambda: later)

    with reading(tmp_path) as reader:
        assert reader.read("folder/a.py") == (b"x = 1\n", stamp_of(os.lstat(place)))


def test_what_is_no_file_beneath_the_root_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder.py").mkdir(parents=True)
    (tmp_path / "secret.py").write_text("secret")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "way").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.py")

    with reading(root) as reader:
        for path in ("folder.py", "link.py", "way/secret.py", "pipe.py", "none.py", "../secret.py"):
            with pytest.raises(OSError):  # noqa: PT011 - each for a reason of its own
                reader.read(path)


def test_without_openat2_the_same_is_read_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(folder: int, path: bytes, flags: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("remora.hub.content.openat2", missing)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.py").write_bytes(b"x")
    (tmp_path / "way").symlink_to(tmp_path / "folder")

    with reading(tmp_path) as reader:
        assert reader.read("folder/a.py").data == b"x"
        with pytest.raises(OSError):  # noqa: PT011
            reader.read("way/a.py")
