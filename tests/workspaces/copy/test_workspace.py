"""A private copy of the base, and what changed in it."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.sandbox.child.command_record import NAMESPACES
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from remora.workspaces.copy.changes import FileState, changes_between
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot
from tests.isolation_levels import need
from tests.workspaces.conftest import tree


@pytest.fixture
def driver(base: BaseSnapshot, tmp_path: Path) -> SlotDriver:
    return SlotDriver(base, tmp_path / "cache" / "slots")


def command(folder: Path, script: str, level: int, within: Confinement | None = None) -> str:
    """What a script says that works in a folder, and may change it."""
    words = (sys.executable, "-I", "-S", "-B", "-c", script)
    python = interpreter_paths(Path(sys.executable), trusted=True)
    confined = within or Confinement(read=python, write=(folder,))
    given = Command(argv=words, folder=folder, seconds=30, confinement=confined)
    ended = run_command(given, level=level)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode().strip()


def test_a_workspace_is_a_private_copy(driver: SlotDriver, base: BaseSnapshot) -> None:
    with driver.open() as workspace:
        assert tree(workspace.tree) == {
            path: (base.read(path), file.mode) for path, file in base.files.items()
        }
        assert workspace.snapshot() == {}
        assert all(p.stat().st_nlink == 1 for p in workspace.tree.rglob("*") if p.is_file())
        assert workspace.tree.stat().st_mode & 0o777 == 0o700


def test_a_snapshot_names_what_differs_and_no_junk(driver: SlotDriver, base: BaseSnapshot) -> None:
    with driver.open() as workspace:
        (workspace.tree / "pkg/a.py").write_bytes(b"a = 2\n")
        (workspace.tree / "run.sh").unlink()
        (workspace.tree / "pkg/new.py").write_bytes(b"new\n")
        (workspace.tree / "pkg/new.py").chmod(0o600)
        (workspace.tree / "pkg/deep/b.py").chmod(0o755)
        for junk in ["pkg/__pycache__/a.pyc", ".ruff_cache/x", "x.tmp", "out/x", "a.pyc"]:
            (workspace.tree / junk).parent.mkdir(exist_ok=True)
            (workspace.tree / junk).write_bytes(b"junk")
        snapshot = workspace.snapshot()
        assert list(snapshot) == ["pkg/a.py", "pkg/deep/b.py", "pkg/new.py", "run.sh"]
        assert snapshot["run.sh"] == FileState(None, 0o755)
        assert snapshot["pkg/new.py"].mode == 0o600
        assert snapshot["pkg/deep/b.py"] == FileState(base.files["pkg/deep/b.py"].sha256, 0o755)
        assert len(changes_between({}, snapshot, base)) == 4
        assert workspace.read("pkg/a.py") == b"a = 2\n"
        assert workspace.base_bytes("pkg/a.py") == b"a = 1\n"
        assert workspace.read("run.sh") is None
        assert workspace.base_bytes("pkg/new.py") is None
        workspace.reset()
        assert workspace.snapshot() == {}
        assert set(tree(workspace.tree)) == set(base.files)


def test_a_change_of_the_same_size_or_with_a_forged_time_is_seen(driver: SlotDriver) -> None:
    """The file system's clock ticks in milliseconds: status alone would hide such a change."""
    with driver.open() as workspace:
        for count in range(50):
            (workspace.tree / "pkg/a.py").write_bytes(b"a = 3\n" if count % 2 else b"a = 2\n")
            before = workspace.snapshot()["pkg/a.py"]
            (workspace.tree / "pkg/a.py").write_bytes(b"a = 4\n")
            assert workspace.snapshot()["pkg/a.py"] != before
    with driver.open() as workspace:
        file = workspace.tree / "pkg/a.py"
        time.sleep(0.05)
        workspace.snapshot()
        status = file.stat()
        with file.open("r+b") as handle:
            handle.write(b"a = 9\n")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert list(workspace.snapshot()) == ["pkg/a.py"]


def test_a_folder_for_a_file_and_a_file_for_a_folder(
    driver: SlotDriver, base: BaseSnapshot
) -> None:
    with driver.open() as workspace:
        (workspace.tree / "pkg/a.py").unlink()
        (workspace.tree / "pkg/a.py").mkdir()
        (workspace.tree / "pkg/a.py/x").write_bytes(b"x")
        shutil.rmtree(workspace.tree / "pkg/deep")
        (workspace.tree / "pkg/deep").write_bytes(b"a file\n")
        snapshot = workspace.snapshot()
        assert {path: state.sha256 is None for path, state in snapshot.items()} == {
            "pkg/a.py": True,
            "pkg/a.py/x": False,
            "pkg/deep": False,
            "pkg/deep/b.py": True,
        }
        workspace.reset()
        assert workspace.snapshot() == {}
        assert set(tree(workspace.tree)) == set(base.files)


def test_set_files_restores_a_turn_and_what_was_taken_back_is_no_change(driver: SlotDriver) -> None:
    with driver.open() as workspace:
        file = workspace.tree / "pkg/a.py"
        file.write_bytes(b"other\n")
        file.chmod(0o600)
        file.unlink()
        file.write_bytes(b"a = 1\n")
        file.chmod(0o644)
        (workspace.tree / "new/folder").mkdir(parents=True)
        (workspace.tree / "pkg").chmod(0o700)
        assert workspace.snapshot() == {}
    with driver.open() as workspace:
        workspace.set_files(
            {"pkg/deep/b.py": (None, 0), "pkg/deep": (b"now a file", 0o600), "n/x": (b"x", 0o755)}
        )
        snapshot = workspace.snapshot()
        assert list(snapshot) == ["n/x", "pkg/deep", "pkg/deep/b.py"]
        assert [state.mode for state in snapshot.values()] == [0o755, 0o600, 0o644]
        with pytest.raises(HostError):
            workspace.set_files({"../out": (b"x", 0o644)})


@pytest.mark.parametrize("kind", ["link", "folder link", "another name", "pipe"])
def test_links_and_special_files_are_refused_and_healed(
    driver: SlotDriver, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_bytes(b"kept")
    with driver.open() as workspace:
        odd = workspace.tree / "odd"
        if kind == "pipe":
            os.mkfifo(odd)
        elif kind == "another name":
            odd.hardlink_to(workspace.tree / "pkg/a.py")
        else:
            odd.symlink_to(tmp_path / ("outside" if kind == "folder link" else "outside/kept"))
        with pytest.raises(HostError, match=r"odd|pkg/a\.py"):
            workspace.snapshot()
        if kind != "another name":
            assert workspace.read("odd/kept" if kind == "folder link" else "odd") is None
        workspace.reset()
        assert workspace.snapshot() == {}
    assert (tmp_path / "outside/kept").read_bytes() == b"kept"


def test_nothing_reaches_the_base_or_the_project(driver: SlotDriver, base: BaseSnapshot) -> None:
    before = tree(base.root)
    contents = {path: base.read(path) for path in base.files}
    inodes = {path.stat().st_ino for path in base.root.rglob("*") if path.is_file()}
    for _ in range(2):
        with driver.open() as workspace:
            for path in base.files:
                file = workspace.tree / path
                assert (file.stat().st_ino, file.stat().st_dev) not in {
                    (inode, base.root.stat().st_dev) for inode in inodes
                }
                with file.open("ab") as handle:
                    handle.write(b"more")
                file.chmod(0o600)
            assert set(workspace.snapshot()) == set(base.files)
    assert tree(base.root) == before
    assert {path: base.read(path) for path in base.files} == contents


@pytest.mark.parametrize("level", range(4))
def test_a_command_works_in_it_at_every_level(driver: SlotDriver, level: int) -> None:
    need(level)
    script = """
import os, shutil
with open("pkg/a.py", "a") as file:
    file.write("b = 2\\n")
shutil.rmtree("pkg/deep")
with open(os.getcwd() + "/new.py", "x"):
    print(os.getcwd())
"""
    with driver.open() as workspace:
        workspace.set_files({"pkg/a.py": (b"a = 2\n", 0o644)})
        assert command(workspace.tree, script, level) == str(workspace.tree)
        assert [*workspace.snapshot()] == ["new.py", "pkg/a.py", "pkg/deep/b.py"]
        assert workspace.read("pkg/a.py") == b"a = 2\nb = 2\n"


@pytest.mark.parametrize("level", range(NAMESPACES, 4))
def test_a_command_can_have_changes_for_itself_alone(driver: SlotDriver, level: int) -> None:
    need(level)
    python = interpreter_paths(Path(sys.executable), trusted=True)
    script = "open('pkg/a.py', 'a').write('x'); print(open('pkg/a.py').read())"
    with driver.open() as workspace:
        workspace.set_files({"pkg/a.py": (b"a = 2\n", 0o644)})
        alone = Confinement(read=python, scratch=(workspace.tree,))
        assert command(workspace.tree, script, level, alone) == "a = 2\nx"
        assert workspace.read("pkg/a.py") == b"a = 2\n"


@pytest.mark.slow
def test_a_folder_that_is_deeper_than_the_stack_is_not_a_hindrance(
    driver: SlotDriver, base: BaseSnapshot
) -> None:
    with driver.open() as workspace:
        workspace.set_files({"d/" * 1500 + "x": (b"x", 0o644)})
        assert len(workspace.snapshot()) == 1
    with driver.open() as workspace:
        assert workspace.snapshot() == {}
        assert len(tree(workspace.tree)) == len(base.files)
