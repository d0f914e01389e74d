"""After any edits a watcher and Members know every file that belongs, with its newest bytes."""

import random
import select
import subprocess
import sys
import textwrap
import time
from hashlib import sha256
from pathlib import Path

import pytest

from remora.files.project_files import project_files
from remora.hub.file_stamp import Stamp, is_racy
from remora.hub.members.members import Members
from remora.hub.watch.watcher import SweepingWatcher, Watcher, open_watcher
from tests.hub.watch.edits import Edits, git


class Follower:
    """Keeps the hashes of all files: reads what it is told changed, and sweeps if there is more."""

    def __init__(self, root: Path, members: Members, watcher: Watcher) -> None:
        self.root, self.members, self.watcher = root, members, watcher
        self.hashes: dict[str, str] = {}
        self.questions = self.sweeps = 0
        self._doubt = False
        self._stamps: dict[str, tuple[Stamp, bool]] = {}

    def follow(self) -> None:
        self.questions += 1
        seen = self.watcher.drain()
        if seen.complete and self.watcher.healthy and not self._doubt:
            there = self.members.belonging(seen.paths)
            for path in seen.paths:
                self._read(path) if path in there else self._drop(path)
            return
        self.sweeps += 1
        self._doubt = False
        now = time.time_ns()
        stamps = self.members.sweep()
        for path in self.hashes.keys() - stamps.keys():
            self._drop(path)
        for path, stamp in stamps.items():
            if self._stamps.get(path) != (stamp, False):
                self._read(path)
                self._stamps[path] = (stamp, is_racy(stamp, now))

    def _read(self, path: str) -> None:
        self._stamps.pop(path, None)
        try:
            self.hashes[path] = sha256((self.root / path).read_bytes()).hexdigest()
        except OSError:  # somebody was quicker
            self._drop(path)
            self._doubt = True

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


def plant(folder: Path, *, with_git: bool) -> tuple[Path, Path]:
    root, outside = folder / "project", folder / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (root / "a/a.py").write_text("x = 0\n")
    if with_git:
        git(root, "init", "-q", "-b", "main", ".")
        git(root, "add", ".")
        git(root, "commit", "-qm", "one")
    return root, outside


def fuzz(folder: Path, seed: int, edits: int, *, kind: str, with_git: bool) -> Follower:
    root, outside = plant(folder, with_git=with_git)
    chance = random.Random(seed)
    members = Members(root)
    watcher = SweepingWatcher(note="") if kind == "sweep" else open_watcher(root, members)
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


EDITOR = """
    import random, sys
    from pathlib import Path
    from tests.hub.watch.edits import Edits

    root, outside, seed, with_git = sys.argv[1:]
    some = Edits(Path(root), Path(outside), random.Random(seed), with_git=bool(with_git))
    for _ in sys.stdin:
        for _ in range(40):
            some.make()
        print("done", flush=True)
"""


def beside(folder: Path, seed: int, rounds: int, *, with_git: bool) -> Follower:
    """Follow while another process edits; compare whenever it pauses."""
    root, outside = plant(folder, with_git=with_git)
    members = Members(root)
    watcher = open_watcher(root, members)
    words = [str(root), str(outside), str(seed), "git" if with_git else ""]
    editor = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(EDITOR), *words],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    follower = Follower(root, members, watcher)
    try:
        assert editor.stdin is not None
        assert editor.stdout is not None
        for _ in range(rounds):
            print(file=editor.stdin, flush=True)
            while not select.select([editor.stdout], [], [], 0)[0]:
                follower.follow()
            assert editor.stdout.readline() == "done\n"
            follower.follow()
            assert follower.hashes == truth(root)
            assert watcher.kind == "inotify", watcher.note
        return follower
    finally:
        editor.kill()
        editor.communicate()
        watcher.close()


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize(
    "kind", [pytest.param("inotify", marks=pytest.mark.needs("inotify")), "sweep"]
)
def test_some_edits(kind: str, with_git: bool, tmp_path: Path) -> None:
    fuzz(tmp_path, 1, 50, kind=kind, with_git=with_git)


@pytest.mark.needs("inotify")
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("with_git", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize("seed", range(5))
def test_many_edits_while_questions_are_asked(seed: int, with_git: bool, tmp_path: Path) -> None:
    follower = beside(tmp_path, 200 + seed, 20, with_git=with_git)
    assert follower.questions > follower.sweeps


@pytest.mark.needs("inotify")
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_edits(seed: int, tmp_path: Path) -> None:
    follower = fuzz(tmp_path, 100 + seed, 1000, kind="inotify", with_git=seed % 3 != 0)
    assert follower.sweeps < 1000  # or it would be no watcher
