"""The inotify watcher: everything that happened is told, by paths or by `complete=False`."""

import ctypes
import os
import select
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from remora.hub.members.members import Members
from remora.hub.members.tree_walk import Before, WalkResult
from remora.hub.watch.inotify import Changes
from remora.hub.watch.watcher import Watcher, open_watcher
from tests.hub.small_files import git, put

pytestmark = pytest.mark.needs("inotify")


class EditedMembers(Members):
    """Members of a project that is edited at the beginning of each walk, by the next of `edits`."""

    edits: Sequence[Callable[[], object]] = ()

    def survey(self, starts: Iterable[str] = ("",), before: Before | None = None) -> WalkResult:
        for edit in self.edits[:1]:
            self.edits = self.edits[1:]
            edit()
        return super().survey(starts, before)


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
def members(root: Path) -> Members:
    return Members(root)


@pytest.fixture
def watcher(root: Path, members: Members, tmp_path: Path) -> Iterator[Watcher]:
    opened = open_watcher(root, members)
    assert opened.note == ""
    assert not opened.drain().complete  # what was before is for the caller to sweep
    yield opened
    opened.close()


def only(*paths: str) -> Changes:
    """These, and nothing else."""
    return Changes(frozenset(paths), complete=True)


def held(watcher: Watcher) -> int:
    """Watches that the kernel holds for it."""
    text = Path(f"/proc/self/fdinfo/{watcher.fileno()}").read_text()
    return text.count("inotify wd:")


def test_each_folder_that_is_not_ignored_is_watched_and_quiet(watcher: Watcher) -> None:
    assert watcher.drain() == only()
    assert held(watcher) == len({"", "src", "src/deep", "src/deep/er", "docs"})


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


def exchange(one: Path, other: Path) -> None:
    """Exchange two entries by `renameat2`."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "renameat2"):
        pytest.skip("this system's library cannot")
    here, swap = -100, ctypes.c_uint(2)  # AT_FDCWD, RENAME_EXCHANGE
    assert library.renameat2(here, os.fsencode(one), here, os.fsencode(other), swap) == 0


class TestFolders:
    def test_what_is_in_a_new_folder_already_is_reported(
        self, watcher: Watcher, root: Path
    ) -> None:
        put(root, "new/deep/a.py", "new/deep/er/b.pyi", "new/c.txt")
        seen = watcher.drain()
        assert seen == only("new/deep/a.py", "new/deep/er/b.pyi")
        put(root, "new/deep/er/b.pyi")
        assert watcher.drain().paths == {"new/deep/er/b.pyi"}
        assert held(watcher) == 8

    def test_a_moved_folder_is_followed(self, watcher: Watcher, root: Path) -> None:
        (root / "src/deep").rename(root / "docs/deep")
        seen = watcher.drain()
        assert "docs/deep/er/c.py" in seen.paths
        assert not seen.complete  # what was in the old place, a sweep tells
        put(root, "docs/deep/er/c.py", "docs/deep/er/d.py")
        assert watcher.drain() == only("docs/deep/er/c.py", "docs/deep/er/d.py")
        put(root, "src/deep/er/c.py")
        assert watcher.drain().paths == {"src/deep/er/c.py"}

    def test_a_folder_that_leaves_the_project_is_watched_no_more(
        self, watcher: Watcher, root: Path
    ) -> None:
        before = held(watcher)
        (root / "src").rename(root.parent / "src")
        assert not watcher.drain().complete
        put(root.parent, "src/b.py")
        assert watcher.drain() == only()
        assert held(watcher) == before - 3
        (root.parent / "src").rename(root / "again")
        assert watcher.drain() == only("again/b.py", "again/deep/er/c.py")
        assert held(watcher) == before

    def test_one_that_moved_between_two_looks_at_its_new_place(
        self, watcher: Watcher, root: Path
    ) -> None:
        put(root, "x/a.py")
        (root / "src").rename(root / "x/src")
        put(root, "src/other.py")
        watcher.drain()
        put(root, "x/src/b.py", "src/other.py", "x/a.py")
        assert watcher.drain() == only("x/src/b.py", "src/other.py", "x/a.py")
        assert held(watcher) == 7

    def test_a_file_that_was_seen_and_removed_before_its_folder_is_watched(
        self, watcher: Watcher, members: Members, root: Path
    ) -> None:
        watcher.drain()
        put(root, "new/a.py")
        assert "new/a.py" in members.sweep()
        (root / "new/a.py").unlink()
        seen = watcher.drain()
        assert "new/a.py" in seen.paths or not seen.complete

    def test_a_folder_that_is_removed_and_rebuilt(self, watcher: Watcher, root: Path) -> None:
        for _ in range(3):
            shutil.rmtree(root / "src/deep")
            put(root, "src/deep/er/c.py")
        assert "src/deep/er/c.py" in watcher.drain().paths
        put(root, "src/deep/er/c.py")
        assert watcher.drain() == only("src/deep/er/c.py")

    @pytest.mark.parametrize(
        ("one", "other", "then"),
        [
            ("one", "two", ["one/j/a.py", "two/i/a.py", "one/three/k/a.py"]),
            ("one", "two/three", ["one/k/a.py", "two/three/i/a.py"]),
            ("two/three", "one", ["one/k/a.py", "two/three/i/a.py"]),
            ("one", "two/a.py", ["two/a.py/i/a.py"]),
        ],
    )
    def test_two_entries_that_are_exchanged_are_both_followed(
        self, one: str, other: str, then: list[str], watcher: Watcher, root: Path
    ) -> None:
        put(root, "one/i/a.py", "two/j/a.py", "two/three/k/a.py", "two/a.py")
        watcher.drain()
        exchange(root / one, root / other)
        assert not watcher.drain().complete
        for path in then:
            put(root, path, text="x = 1\n")
            assert watcher.drain() == only(path)

    @pytest.mark.parametrize("during", [False, True])
    def test_a_folder_that_is_rebuilt_while_all_folders_are_read(
        self, root: Path, tmp_path: Path, *, during: bool
    ) -> None:
        """The queue has the removal of the old folder after the watch of the new one was added."""
        put(root, "p/d/a.py")
        members = EditedMembers(root)
        watcher = open_watcher(root, members)
        watcher.drain()

        def rebuild() -> None:
            shutil.rmtree(root / "p/d")
            put(root, "p/d/b.py")

        members.edits = [rebuild, lambda: shutil.rmtree(root / "p/d")]
        put(root, ".gitignore", text="out/\nother/\n")
        assert not watcher.drain().complete  # the caller sweeps, and finds p/d/b.py
        if not during:
            members.edits = []
            (root / "p/d/b.py").unlink()
        changes = [watcher.drain(), watcher.drain()]
        watcher.close()
        assert any("p/d/b.py" in each.paths or not each.complete for each in changes)

    def test_ignored_folders_and_links_are_not_watched_and_odd_names_are(
        self, watcher: Watcher, root: Path
    ) -> None:
        before = held(watcher)
        put(root, "out/more/x.py", "node_modules/p/x.py", "sub/out/x.py")
        assert watcher.drain() == only()
        assert held(watcher) == before + 1
        before = held(watcher)
        (root / "loop").symlink_to(root)
        (root / "src/up").symlink_to("..")
        assert watcher.drain() == only()
        assert held(watcher) == before
        names = [os.fsdecode(b"caf\xe9"), "n\nl", "p%20:q", " ", "ø"]
        put(root, *(f"{name}/{name}.py" for name in names))
        assert watcher.drain() == only(*(f"{name}/{name}.py" for name in names))


class TestRules:
    def test_an_ignore_file_changes_what_is_watched(self, watcher: Watcher, root: Path) -> None:
        before = held(watcher)
        (root / ".gitignore").write_text("docs/\n")
        assert not watcher.drain().complete
        assert held(watcher) == before - 1 + 1
        put(root, "out/o.py", "out/p.py")
        assert watcher.drain() == only("out/o.py", "out/p.py")

    def test_tracked_files_in_an_ignored_folder_are_watched(
        self, watcher: Watcher, root: Path
    ) -> None:
        git(root, "add", "-f", "out/o.py")
        assert not watcher.drain().complete
        put(root, "out/o.py")
        assert watcher.drain() == only("out/o.py")
        git(root, "rm", "-q", "--cached", "out/o.py")
        assert not watcher.drain().complete
        put(root, "out/o.py")
        assert watcher.drain() == only()

    def test_patterns_outside_the_tree_count_and_commits_do_not(
        self, watcher: Watcher, root: Path
    ) -> None:
        git(root, "commit", "-q", "--allow-empty", "-m", "two")
        assert watcher.drain() == only()
        (root / ".git/info/exclude").write_text("docs/\n")
        before = held(watcher)
        assert not watcher.drain().complete
        assert held(watcher) == before - 1

    def test_an_environment_or_a_repository_within_comes_and_goes(
        self, watcher: Watcher, root: Path
    ) -> None:
        before = held(watcher)
        put(root, "src/deep/pyvenv.cfg")
        assert not watcher.drain().complete
        assert held(watcher) == before - 2
        put(root, "src/deep/x.py")
        assert watcher.drain() == only()
        (root / "src/deep/pyvenv.cfg").unlink()
        assert not watcher.drain().complete
        assert held(watcher) == before
        put(root, "nested/n.py")
        watcher.drain()
        git(root / "nested", "init", "-q", ".")
        assert not watcher.drain().complete
        assert held(watcher) == before
        shutil.rmtree(root / "nested/.git")
        assert not watcher.drain().complete
        assert held(watcher) == before + 1

    def test_a_branch_switch(self, watcher: Watcher, root: Path) -> None:
        git(root, "checkout", "-qb", "other")
        for number in range(30):
            put(root, f"new{number}/deep/m.py")
        shutil.rmtree(root / "src")
        git(root, "add", ".")
        git(root, "commit", "-qm", "two")
        watcher.drain()
        git(root, "checkout", "-q", "-")
        gone = {f"new{number}/deep/m.py" for number in range(30)}
        assert watcher.drain().paths >= gone | {"src/b.py", "src/deep/er/c.py"}
        git(root, "checkout", "-q", "-")
        seen = watcher.drain()
        assert seen.paths >= gone
        assert seen.complete


class TestOtherNames:
    def test_a_file_with_a_name_outside(
        self, watcher: Watcher, members: Members, root: Path
    ) -> None:
        put(root.parent, "known.py")
        (root / "h.py").hardlink_to(root.parent / "known.py")
        seen = watcher.drain()
        assert "h.py" in seen.paths
        assert not seen.complete
        members.sweep()
        watcher.drain()
        (root.parent / "known.py").write_text("x = 22\n")
        assert "h.py" in watcher.drain().paths

    def test_two_names_within(self, root: Path, tmp_path: Path) -> None:
        (root / "docs/h.py").hardlink_to(root / "a.py")
        watcher = open_watcher(root, Members(root))
        try:
            watcher.drain()
            put(root, "docs/h.py", text="x = 22\n")
            assert watcher.drain().paths >= {"a.py", "docs/h.py"}
        finally:
            watcher.close()


class TestLosses:
    def test_the_root_is_removed(self, watcher: Watcher, root: Path, tmp_path: Path) -> None:
        there = watcher.fileno()
        shutil.rmtree(root)
        assert not watcher.drain().complete
        assert watcher.note
        assert "was removed or replaced" in watcher.note
        assert watcher.fileno() == there
        put(root, "a.py")
        assert watcher.note  # it is another folder
        other = open_watcher(root, Members(root))
        assert not other.note
        other.close()

    def test_the_root_is_moved_and_the_failed_watcher_stops_waking_the_daemon(
        self, watcher: Watcher, root: Path
    ) -> None:
        put(root, "a.py")
        root.rename(root.parent / "moved")
        put(root, "a.py")
        assert not watcher.drain().complete
        assert watcher.note
        watcher.drain()
        there = watcher.fileno()
        assert there is not None
        assert not select.select([there], [], [], 0)[0]

    def test_the_queue_overflows(self, watcher: Watcher, root: Path) -> None:
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        put(root, "src/z.py")
        for _ in range(limit // 2 + 10):
            os.utime(root / "a.py")
            os.utime(root / "src/b.py")
        put(root, "late/x/y.py")
        assert not watcher.drain().complete
        put(root, "late/x/y.py")
        assert watcher.drain() == only("late/x/y.py")

    def test_after_close(self, root: Path, tmp_path: Path) -> None:
        watcher = open_watcher(root, Members(root))
        watcher.close()
        watcher.close()
        assert not watcher.drain().complete
