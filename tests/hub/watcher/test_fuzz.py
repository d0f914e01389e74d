"""After any edits a watcher and Members know every file that belongs, with its newest bytes."""

import random
import time
from hashlib import sha256
from pathlib import Path

import pytest

from remora.files import project_files
from remora.hub.members import Members
from remora.hub.stamp import Stamp, racy
from remora.hub.watcher import Watcher, open_watcher
from tests.hub.watcher.edits import Edits, git


class Follower:
    """Keeps the hashes of all files as a hub does: it reads what it is told changed, and sweeps
    where it is told that there is more."""

    def __init__(self, root: Path, members: Members, watcher: Watcher) -> None:
        self.root, self.members, self.watcher = root, members, watcher
        self.hashes: dict[str, str] = {}
        self.sweeps = 0
        self._stamps: dict[str, tuple[Stamp, bool]] = {}

    def follow(self) -> None:
        settled = self.watcher.settled(20) or not self.watcher.healthy
        assert settled
        seen = self.watcher.drain()
        if seen.complete and self.watcher.healthy:
            there = self.members.belonging(seen.paths)
            for path in seen.paths:
                self._read(path) if path in there else self._drop(path)
            return
        self.sweeps += 1
        now = time.time_ns()
        stamps = self.members.sweep()
        for path in self.hashes.keys() - stamps.keys():
            self._drop(path)
        for path, stamp in stamps.items():
            if self._stamps.get(path) != (stamp, False):
                self._read(path)
                self._stamps[path] = (stamp, racy(stamp, now))

    def _read(self, path: str) -> None:
        self.hashes[path] = sha256((self.root / path).read_bytes()).hexdigest()
        self._stamps.pop(path, None)

    def _drop(self, path: str) -> None:
        self.hashes.pop(path, None)
        self._stamps.pop(path, None)


def truth(root: Path) -> dict[str, str]:
    """What `project_files` and the disk say, but for what nobody takes for his own code."""
    found = {}
    for path in project_files(root).paths:
        above = [Path(path).parents[n] for n in range(len(Path(path).parents) - 1)]
        made = any(p.name == "node_modules" or (root / p / "pyvenv.cfg").exists() for p in above)
        if path.endswith(".py") and not made:
            found[path] = sha256((root / path).read_bytes()).hexdigest()
    return found


def fuzz(folder: Path, seed: int, edits: int, *, kind: str, with_git: bool) -> Follower:
    root, outside = folder / "project", folder / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (root / "a/a.py").write_text("x = 0\n")
    if with_git:
        git(root, "init", "-q", "-b", "main", ".")
        git(root, "add", ".")
        git(root, "commit", "-qm", "one")
    chance = random.Random(seed)
    members = Members(root)
    watcher = open_watcher(root, members, marker=folder / "marker", kind=kind)
    try:
        follower = Follower(root, members, watcher)
        some = Edits(root, outside, chance, with_git=with_git)
        done: list[str] = []
        while some.count < edits:
            done.append(some.make())
            if chance.random() < 0.5:
                follower.follow()
                assert follower.hashes == truth(root), (seed, some.count, done[-4:])
                done.clear()
        assert watcher.kind == kind, watcher.note
        return follower
    finally:
        watcher.close()


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize("kind", ["inotify", "sweep"])
def test_some_edits(kind: str, with_git: bool, tmp_path: Path) -> None:
    fuzz(tmp_path, 1, 120, kind=kind, with_git=with_git)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_edits(seed: int, tmp_path: Path) -> None:
    follower = fuzz(tmp_path, 100 + seed, 1000, kind="inotify", with_git=seed % 3 != 0)
    assert follower.sweeps < 1000  # or it would be no watcher
