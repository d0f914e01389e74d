"""open_watcher: the best that can be had, and a sentence where that is less than hoped for."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from remora.hub.members.members import Members
from remora.hub.watch.inotify import MountTable
from remora.hub.watch.watcher import open_watcher
from tests.hub.small_files import put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    put(folder, "a.py", "src/b.py")
    return folder


@pytest.mark.needs("inotify")
def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    root = tmp_path / "absent"
    watcher = open_watcher(root, Members(root))
    assert "No such file" in watcher.note


def test_without_inotify_it_sweeps_and_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remora.hub.watch.watcher.has_inotify", lambda: False)
    watcher = open_watcher(root, Members(root))
    assert watcher.note.startswith("this system has no inotify")
    assert not watcher.drain().complete
    assert watcher.fileno() is None


EXHAUSTED = """
    import ctypes, sys
    from pathlib import Path
    if ctypes.CDLL(None).unshare(0x10000000):  # a user namespace with limits of its own
        sys.exit(77)
    Path("/proc/sys/user/max_inotify_watches").write_text(sys.argv[2])

    from remora.hub.members.members import Members
    from remora.hub.watch.watcher import open_watcher

    root = Path(sys.argv[1])
    watcher = open_watcher(root, Members(root))
    print(watcher.note)
    for number in range(20):
        (root / f"more{number}").mkdir()
        (root / f"more{number}/a.py").write_text("")
    print(watcher.drain())
    print(watcher.note)
"""


@pytest.mark.needs("inotify")
@pytest.mark.parametrize(("most", "first"), [(1, "the limit of inotify watches"), (10, "")])
def test_exhausted_watches(most: int, first: str, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(EXHAUSTED), str(root), str(most)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "max_inotify_watches" in done.stderr:
        pytest.skip("no user namespace to be had")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(first), done.stderr
    assert bool(lines[0]) == bool(first)
    assert lines[1] == "Changes(paths=frozenset(), complete=False)"
    assert lines[2].startswith("the limit of inotify watches is reached")
    assert "fs.inotify.max_user_watches" in lines[2]


@pytest.mark.needs("inotify")
def test_exhausted_instances(root: Path) -> None:
    script = textwrap.dedent(EXHAUSTED).replace("inotify_watches", "inotify_instances")
    words = [sys.executable, "-c", script, str(root), "0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "max_inotify_instances" in done.stderr:
        pytest.skip("no user namespace to be had")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("inotify could not be used"), done.stderr
    assert "fs.inotify.max_user_instances" in lines[0]


@pytest.mark.needs("/proc")
class TestMounts:
    def test_a_local_file_system_is_believed(self, root: Path) -> None:
        mounts = MountTable()
        assert mounts.objection(str(root), ["", "src"]) == ""
        assert not mounts.changed()
        mounts.close()

    def test_shared_file_systems_and_inner_mounts_are_not_watched(self, tmp_path: Path) -> None:
        mounts = MountTable()
        assert mounts.objection("/proc/self", [""]).startswith("/proc/self is on proc")
        assert mounts.objection("", ["", "proc"]) == "another file system is mounted at /proc"
        mounts.close()
