"""Tree full of traps for adversarial scripts, and files outside it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SENTINEL = "7c1f0e52-never-in-a-script"
GITHUB = "ghp_" + "a1B2" * 9


@dataclass(frozen=True)
class Ground:
    """`tree` is what a script works on; everything else in `folder` is none of its business."""

    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    def around(self) -> dict[str, tuple[int, int, bytes]]:
        """Every file, folder and link that is not in the tree: mode, time of change, content."""
        found = {}
        for path in [self.folder, *sorted(self.folder.rglob("*"))]:
            if path == self.tree or self.tree in path.parents:
                continue
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
        return found


def planted(folder: Path) -> Ground:
    """A fresh ground in `folder`."""
    ground = Ground(folder)
    ground.tree.mkdir()
    ground.outside.mkdir()
    _outside(ground.outside)
    _tree(ground.tree)
    os.link(ground.outside / "hard.py", ground.tree / "hard.py")
    (ground.tree / "linked.py").symlink_to(ground.outside / "secret.py")
    (ground.tree / "linked_folder").symlink_to(ground.outside)
    (ground.tree / "mixed/linked.py").symlink_to(ground.outside / "secret.py")
    (ground.tree / "mixed/linked_folder").symlink_to(ground.outside)
    (ground.tree / "dangling").symlink_to(ground.outside / "dangling")
    os.mkfifo(ground.tree / "pipe")
    _socket(ground.tree)
    return ground


def _outside(folder: Path) -> None:
    (folder / "secret.py").write_text(f"import planted  # {SENTINEL}\n")
    (folder / "both.py").write_text(f"planted = 1  # {SENTINEL}\n")
    (folder / "hard.py").write_text("import os\n")
    (folder / "deep").mkdir()
    (folder / "ruff.toml").write_text("line-length = 100\n")


def _tree(folder: Path) -> None:
    for name in ("src", "swapped/deep", "escaping", "mixed"):
        (folder / name).mkdir(parents=True)
    (folder / "a.py").write_text("import os\n")
    (folder / "src/b.py").write_text("x = 1\n")
    (folder / "swapped/both.py").write_text("x = 1\n")
    (folder / "mixed/own.py").write_text("import os\n")
    (folder / "escaping/b.py").write_text("x = 1\n")
    (folder / "escaping/ruff.toml").write_text('extend = "../../outside/ruff.toml"\n')
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(2 * 1024 * 1024)
    (folder / "large.txt").write_bytes(b"x" * (1024 * 1024))
    (folder / "odd").mkdir()
    (folder / "odd/plain.txt").write_text("x")
    (folder / os.fsdecode(b"odd/\xff.txt")).write_text("x")
    (folder / "credentials.txt").write_text(f"token={GITHUB}\n")


def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # a socket's path may have about 100 characters
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket")
    finally:
        os.chdir(here)


_SWAPPER = """
import os, select, sys
from remora.workspaces.file_syscalls import rename_exchange
folder = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    for _ in range(100):
        rename_exchange(folder, b"swapped", b"other")
"""


@contextmanager
def swapping(ground: Ground) -> Iterator[None]:
    """While the block runs, `swapped` in the tree is now a folder, now a link to the outside."""
    (ground.tree / "other").symlink_to(ground.outside)
    words = [sys.executable, "-c", _SWAPPER, str(ground.tree)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdin is not None
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            swapper.stdin.close()
    assert swapper.returncode == 0


def children() -> set[str]:
    """Processes that descend from this one, the sandbox's own workers left out."""
    found: set[str] = set()
    waiting = [str(os.getpid())]
    while waiting:
        for listed in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            with suppress(OSError):
                waiting += (born := listed.read_text().split())
                found |= {pid for pid in born if not _is_worker(pid)}
    return found


def _is_worker(pid: str) -> bool:
    try:
        return b"monty" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return True  # it is gone
