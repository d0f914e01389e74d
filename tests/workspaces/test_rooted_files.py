"""RootedFiles: files are reached by root-relative path; nothing outside the root is reachable."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.regular_file import open_by_parts
from remora.workspaces import rooted_files
from remora.workspaces.rooted_files import RootedFiles
from tests.memory_limit import memory_limit


@pytest.fixture(params=["openat2", "walk"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the same files, reached by the kernel's call and by the walk part by part."""
    if request.param == "walk":
        monkeypatch.setattr(rooted_files, "_open_folder", open_by_parts)
    root = tmp_path / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "a.py").write_bytes(b"a = 1\n")
    (root / "src" / "b.py").write_bytes(b"b = 1\n")
    (root / "src" / "deep" / "c.py").write_bytes(b"c = 1\n")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.py").write_bytes(b"outside")
    (tmp_path / "outside" / "deep").mkdir()
    (tmp_path / "outside" / "deep" / "c.py").write_bytes(b"outside")
    return root


def test_reads_and_writes_what_is_there(root: Path) -> None:
    files = RootedFiles(root)
    assert files.read_bytes("src/b.py") == b"b = 1\n"
    assert files.read_bytes("./src//b.py") == b"b = 1\n"
    (root / "src/b.py").chmod(0o640)
    files.write_bytes("src/b.py", b"b = 2\n")
    assert (root / "src/b.py").read_bytes() == b"b = 2\n"
    assert stat.S_IMODE((root / "src/b.py").stat().st_mode) == 0o640
    assert files.stat("src/b.py").st_size == 6
    assert {p.name for p in (root / "src").iterdir()} == {"b.py", "deep"}, (
        "no temporary file is left"
    )


def test_creates_with_folders_and_never_over_something(root: Path) -> None:
    files = RootedFiles(root)
    files.create("new/deep/d.py", b"d", mode=0o755)
    assert stat.S_IMODE((root / "new/deep/d.py").stat().st_mode) == 0o755
    with pytest.raises(HostError, match="already exists"):
        files.create("new/deep/d.py", b"other")
    assert (root / "new/deep/d.py").read_bytes() == b"d"
    (root / "dangling").symlink_to("nowhere")
    with pytest.raises(HostError, match="already exists"):
        files.create("dangling", b"x")
    assert not (root / "nowhere").exists()


def test_removes_only_regular_files(root: Path) -> None:
    files = RootedFiles(root)
    files.remove("a.py")
    assert not files.exists("a.py")
    with pytest.raises(HostError, match="not a regular file"):
        files.remove("src")
    with pytest.raises(HostError, match="no such file"):
        files.remove("a.py")


def test_large_files_are_refused_unread_or_read_in_pieces(root: Path) -> None:
    (root / "big").write_bytes(b"x" * 101)
    with pytest.raises(HostError, match="larger than 100 bytes"):
        RootedFiles(root).read_bytes("big", limit=100)
    assert len(RootedFiles(root).read_bytes("big", limit=101)) == 101
    with (root / "big").open("wb") as file:
        file.truncate(2 << 30)
    with memory_limit(), pytest.raises(HostError, match=r"big: 2,048\.0 MiB, larger than 16 MiB"):
        RootedFiles(root).read_bytes("big")
    files = RootedFiles(root)
    with (root / "big").open("wb") as file:
        file.truncate(64 << 20)
    with memory_limit():
        files.create("copy", files.pieces("big"))
        files.write_bytes("copy", files.pieces("big"))
    assert (root / "copy").stat().st_size == 64 << 20


def test_a_write_that_fails_leaves_nothing(root: Path) -> None:
    files = RootedFiles(root)

    def pieces() -> Iterator[bytes]:
        yield b"one"
        raise KeyboardInterrupt

    before = sorted(each.name for each in root.iterdir())
    with pytest.raises(KeyboardInterrupt):
        files.create("new", pieces())
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes("a.py", pieces())
    assert sorted(each.name for each in root.iterdir()) == before


BAD = ["/etc/passwd", "../secret", "src/../../secret", "", ".", "a\0b", "\ud800", "x" * 300]


@pytest.mark.parametrize("rel", BAD)
def test_names_that_lead_nowhere_good_are_refused_by_every_method(root: Path, rel: str) -> None:
    files = RootedFiles(root)
    calls: list[Callable[[], object]] = [
        lambda: files.read_bytes(rel),
        lambda: files.write_bytes(rel, b"x"),
        lambda: files.create(rel, b"x"),
        lambda: files.remove(rel),
        lambda: files.stat(rel),
    ]
    if len(rel) < 300:  # too long a name is no fault of form: no such file exists
        calls += [lambda: files.exists(rel), lambda: files.glob(rel)]
    for call in calls:
        with pytest.raises(HostError):
            call()


def test_links_are_never_followed(root: Path) -> None:
    files = RootedFiles(root)
    (root / "link").symlink_to("a.py")
    (root / "out").symlink_to("../outside")
    (root / "src" / "up").symlink_to("..")
    for rel in ["link", "out/b.py", "out/deep/c.py", "src/up/a.py", "src/up/src/b.py"]:
        with pytest.raises(HostError):
            files.read_bytes(rel)
        with pytest.raises(HostError):
            files.write_bytes(rel, b"x")
        with pytest.raises(HostError):
            files.remove(rel)
        assert files.exists(rel) is False
    for rel in ["out/new.py", "out/deep/new.py", "out/new/new.py"]:
        with pytest.raises(HostError):
            files.create(rel, b"x")
    assert files.glob("out/*") == files.glob("out/deep/*") == []
    assert {p.name for p in (root.parent / "outside").rglob("*")} == {"b.py", "deep", "c.py"}
    assert (root / "a.py").read_bytes() == b"a = 1\n"


def test_list_is_sorted_and_leaves_links_out(root: Path) -> None:
    (root / "link.py").symlink_to("a.py")
    (root / "loop").symlink_to(".")
    files = RootedFiles(root)
    assert files.glob("**/*.py") == ["a.py", "src/b.py", "src/deep/c.py"]
    assert files.glob("*.py") == ["a.py"]
    assert files.glob("src/*.py") == ["src/b.py"]
    assert files.glob("src/**") == ["src/b.py", "src/deep/c.py"]
    assert files.glob("src/[bx].p?") == ["src/b.py"]
    assert files.glob("none/*") == []


@pytest.mark.parametrize(
    ("pattern", "folders"), [("src/deep/*.py", 1), ("./src/*.py", 1), ("*/c.py", 3), ("a.py", 1)]
)
def test_only_folders_that_can_match_are_listed(root: Path, pattern: str, folders: int) -> None:
    (root / "other" / "deep").mkdir(parents=True)
    looks: list[None] = []
    RootedFiles(root).glob(pattern, look=lambda: looks.append(None))
    assert len(looks) == folders


def test_odd_names_round_trip_and_special_files_are_refused(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n.py")
    files = RootedFiles(root)
    files.create(name, b"x")
    assert files.glob("*\n.py") == [name]
    assert files.read_bytes(name) == b"x"
    os.mkfifo(root / "pipe")
    for rel in ["pipe", "src"]:
        with pytest.raises(HostError):
            RootedFiles(root).read_bytes(rel)
    assert rooted_files._has_openat2() is True


@pytest.mark.parametrize("rel", ["src/b.py", "src/deep/c.py"])
def test_a_race_of_links_never_reads_outside(root: Path, rel: str) -> None:
    """One thread swaps a folder for a link to outside as fast as it can; reads stay inside."""
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "src").rename(root / "parked")
            (root / "src").symlink_to(root.parent / "outside")
            (root / "src").unlink()
            (root / "parked").rename(root / "src")

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    refused = 0
    try:
        for _ in range(3000):
            try:
                seen.add(RootedFiles(root).read_bytes(rel))
            except HostError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"b = 1\n", b"c = 1\n"}
    assert refused, "the race was never met: this test proves nothing"
