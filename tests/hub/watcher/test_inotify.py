"""The inotify watcher: everything that happened is told, by paths or by `complete=False`."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remora.hub.members import Members
from remora.hub.watcher import Watcher, open_watcher


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def put(root: Path, *paths: str, text: str = "x = 1\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    put(folder, "a.py", "src/b.py", "src/deep/er/c.py", "docs/index.md", "out/o.py")
    (folder / ".gitignore").write_text("out/\n")
    git(folder, "init", "-q", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def watcher(root: Path, tmp_path: Path) -> Iterator[Watcher]:
    opened = open_watcher(root, Members(root), marker=tmp_path / "marker")
    assert opened.kind == "inotify", opened.note
    assert not opened.drain().complete  # what was before is for the caller to sweep
    yield opened
    opened.close()


def held(watcher: Watcher) -> int:
    """Watches that the kernel holds for it."""
    text = Path(f"/proc/self/fdinfo/{watcher.fileno()}").read_text()
    return text.count("inotify wd:")


def test_nothing_happened(watcher: Watcher) -> None:
    assert watcher.drain() == (frozenset(), True)
    assert watcher.settled(20)
    assert watcher.drain() == (frozenset(), True)


def test_one_watch_for_each_folder_that_is_not_ignored_and_the_marker(watcher: Watcher) -> None:
    assert held(watcher) == len({"", "src", "src/deep", "src/deep/er", "docs"}) + 1


def vim(root: Path) -> None:
    put(root, "src/4913", text="")
    (root / "src/4913").unlink()
    (root / "src/b.py").rename(root / "src/b.py~")
    put(root, "src/b.py", text="x = 2\n")
    (root / "src/b.py~").unlink()


def emacs(root: Path) -> None:
    (root / "src/.#b.py").symlink_to("me@host:1")
    put(root, "src/#b.py#", text="x = 2")
    (root / "src/b.py").rename(root / "src/b.py~")
    put(root, "src/b.py", text="x = 2\n")
    (root / "src/.#b.py").unlink()


def atomically(root: Path) -> None:
    put(root, "src/.b.py.tmp", text="x = 2\n")
    (root / "src/.b.py.tmp").replace(root / "src/b.py")


def same_size_and_mtime(root: Path) -> None:
    path = root / "src/b.py"
    about = path.stat()
    path.write_text("x = 2\n")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def still_open(root: Path) -> None:
    with (root / "src/b.py").open("a") as file:
        file.write("y = 1\n")
        file.flush()
        os.truncate(root / "src/b.py", 3)


def older(root: Path) -> None:
    put(root, "backup", text="x = 2\n")
    os.utime(root / "backup", (1, 1))
    (root / "backup").replace(root / "src/b.py")


CHANGES: dict[str, Callable[[Path], object]] = {
    "vim": vim,
    "emacs": emacs,
    "atomic save": atomically,
    "same size and mtime": same_size_and_mtime,
    "written and truncated while open": still_open,
    "a restored backup": older,
    "written": lambda root: put(root, "src/b.py", text="x = 2\n"),
    "removed": lambda root: (root / "src/b.py").unlink(),
    "chmod": lambda root: (root / "src/b.py").chmod(0o600),
    "utime": lambda root: os.utime(root / "src/b.py", (1, 1)),
    "renamed": lambda root: (root / "src/b.py").rename(root / "src/c.py"),
    "moved out of sight": lambda root: (root / "src/b.py").rename(root / "out/c.py"),
    "moved into sight": lambda root: (root / "out/o.py").replace(root / "src/b.py"),
    "removed with its folder": lambda root: shutil.rmtree(root / "src"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_one_file(
    change: Callable[[Path], object], watcher: Watcher, root: Path
) -> None:
    change(root)
    seen = watcher.drain()
    assert "src/b.py" in seen.paths
    assert seen.complete
