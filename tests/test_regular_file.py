"""A file that is opened by its name is a regular one, within its folder, and of a limited size."""

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remora.regular_file import followed, open_regular, read_regular
from remora.workspaces.file_syscalls import rename_exchange
from tests.peak_memory import PeakMemory

LIMIT = 100


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def test_links_are_followed_to_a_file_that_may_be_missing_but_not_in_a_circle(
    tmp_path: Path,
) -> None:
    (tmp_path / "to").symlink_to("missing")
    assert followed(tmp_path / "to") == tmp_path / "missing"
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        followed(tmp_path / "circle")


def read_within(path: Path, folder: Path | None) -> bytes:
    with open_regular(path, within=folder) as file:
        return file.read()


@pytest.mark.parametrize("make", [fifo, link_to_device, link_to_fifo, Path.mkdir])
@pytest.mark.parametrize("bounded", [False, True])
def test_what_is_not_a_regular_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], None], bounded: bool
) -> None:
    make(tmp_path / "pyproject.toml")
    with pytest.raises(OSError, match="not a regular file") as caught:
        read_within(tmp_path / "pyproject.toml", tmp_path if bounded else None)
    assert caught.value.errno == errno.EINVAL


def test_a_device_is_not_even_opened(tmp_path: Path) -> None:
    """Opening one can have effects, such as rewinding a tape."""
    try:
        os.mknod(tmp_path / "device", 0o600 | stat.S_IFCHR, os.makedev(240, 7))  # without a driver
    except PermissionError:
        pytest.skip("this user cannot make devices")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "device")


@pytest.mark.parametrize("size", [LIMIT + 1, 2 << 30])
def test_a_file_over_the_limit_is_not_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "ruff.toml"
    path.touch()
    os.truncate(path, size)
    memory = PeakMemory()
    with pytest.raises(OSError, match="larger than 100 bytes") as caught:
        read_regular(path, LIMIT)
    assert caught.value.errno == errno.EFBIG
    assert memory.growth < 1 << 15  # KiB


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * LIMIT)
    assert read_regular(tmp_path / "file", LIMIT) == b"x" * LIMIT


def test_a_file_whose_size_the_system_does_not_state_is_read_up_to_the_limit() -> None:
    with pytest.raises(OSError, match="larger than"):
        read_regular(Path("/proc/self/maps"), LIMIT)


@pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "folder/outside"])
def test_a_link_out_of_the_folder_is_refused_where_one_is_given(
    tmp_path: Path, target: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_bytes(b"private")
    (root / "folder").symlink_to("..")
    (root / "link").symlink_to(target)
    assert read_regular(root / "link", 1 << 20)
    with pytest.raises(OSError, match="outside the project") as caught:
        read_within(root / "link", root)
    assert caught.value.errno == errno.EXDEV


def test_a_link_within_the_folder_is_followed_however_its_own_path_is_written(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "pyproject.toml").write_bytes(b"[tool]\n")
    (root / "pyproject.toml").symlink_to(root / "inner" / "pyproject.toml")
    (tmp_path / "alias").symlink_to("root")
    for top in (root, tmp_path / "alias"):
        assert read_within(top / "pyproject.toml", top) == b"[tool]\n"


@contextmanager
def alternating(root: Path) -> Iterator[None]:
    """Keep exchanging `root/folder` and a link out of the root."""
    done = threading.Event()
    folder = os.open(root, os.O_PATH)

    def swap() -> None:
        while not done.is_set():
            rename_exchange(folder, b"folder", b"link")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.close(folder)


def test_a_folder_that_becomes_a_link_in_between_leads_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").write_bytes(b"ours")
    (root / "link").symlink_to("..")
    (tmp_path / "file").write_bytes(b"private")
    read, refused = set[bytes](), 0
    with alternating(root):
        while refused < 100 or not read:
            try:
                read.add(read_within(root / "folder" / "file", root))
            except OSError:
                refused += 1
    assert read == {b"ours"}
