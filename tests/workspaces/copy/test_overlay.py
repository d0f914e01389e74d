"""Layers: what a look costs, where the changes are, and what is there when somebody ends it all."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.errors import ConfigError, DiskError, HostError
from remora.files.project_files import project_files
from remora.sandbox.child.command_record import PRIVATE_BYTES
from remora.sandbox.proc_paths import path_for_command, path_in_view, split_view
from remora.workspaces.copy.driver_choice import make_driver, require_driver
from remora.workspaces.copy.overlay import OverlayDriver
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from remora.workspaces.rooted_files import RootedFiles
from tests.workspaces.conftest import skip_without, tree


@pytest.fixture
def driver(base: BaseSnapshot, tmp_path: Path) -> Iterator[OverlayDriver]:
    skip_without("overlay", tmp_path)
    made = OverlayDriver(base, tmp_path / "cache" / "layers")
    yield made
    made.close()


def test_a_look_opens_only_folders_that_were_written_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("overlay", tmp_path)
    for number in range(50):
        (tmp_path / f"root/pkg{number}").mkdir(parents=True)
        (tmp_path / f"root/pkg{number}/m.py").write_text("a = 1\n")
    base = take_base(tmp_path / "root", project_files(tmp_path / "root"), tmp_path / "base")
    driver = OverlayDriver(base, tmp_path / "layers")
    with driver.open() as workspace:
        (workspace.tree / "pkg7/m.py").write_text("a = 2\n")
        (workspace.tree / "pkg8/m.py").unlink()
        looked: list[str] = []
        scandir = os.scandir

        def noted(path: str) -> "os._ScandirIterator[str]":
            looked.append(Path(path).name)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", noted)
        assert [*workspace.snapshot()] == ["pkg7/m.py", "pkg8/m.py"]
        assert sorted(looked) == ["pkg7", "pkg8", "upper"]
        monkeypatch.undo()
    driver.close()


def test_only_commands_see_it_by_its_path(driver: OverlayDriver, tmp_path: Path) -> None:
    with driver.open() as workspace:
        process, _, path = split_view(str(workspace.tree))
        assert process
        assert workspace.tree == path_in_view(process, Path(path))
        assert path_for_command(workspace.tree) == Path(path)
        assert Path(path).is_relative_to(tmp_path.resolve())
        assert not Path(path).exists(), "nobody else does"


def test_a_late_thread_cannot_reach_a_new_layer(driver: OverlayDriver) -> None:
    """A thread that still works when its job is over must not write into another one's copy."""
    with driver.open() as workspace:
        late = RootedFiles(workspace.tree)
        late.create("here.py", b"")
    with driver.open() as other:
        assert other.tree != late.root
        with pytest.raises(HostError):
            late.create("late.py", b"")
    driver.close()
    with pytest.raises(HostError):
        late.create("later.py", b"")


def test_what_a_job_writes_is_bounded(driver: OverlayDriver) -> None:
    with driver.open() as workspace:
        room = os.statvfs(workspace.tree)
        assert 0 < room.f_blocks * room.f_frsize <= PRIVATE_BYTES


def test_workers_open_side_by_side(driver: OverlayDriver) -> None:
    seen: list[list[str]] = []

    def work(number: int) -> None:
        for count in range(10):
            with driver.open() as workspace:
                (workspace.tree / f"{number}-{count}").touch()
                seen.append([*workspace.snapshot()])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted([f"{n}-{count}"] for n in range(4) for count in range(10))


def test_no_descriptor_stays_open(driver: OverlayDriver) -> None:
    with driver.open():
        pass
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(20):
        with driver.open() as workspace:
            (workspace.tree / "new.py").touch()
            workspace.snapshot()
            workspace.reset()
    # what earlier tests left to the garbage collector may be closed meanwhile
    assert len([*Path("/proc/self/fd").iterdir()]) <= before


@pytest.mark.parametrize("name", ["a,b:c d", "back\\slash", "new\nline", "caf\udce9"])
def test_the_cache_may_have_any_name(base: BaseSnapshot, tmp_path: Path, name: str) -> None:
    skip_without("overlay", tmp_path)
    folder = tmp_path / name
    folder.mkdir()
    moved = take_base(base.root, project_files(base.root), folder / "base")
    driver = OverlayDriver(moved, folder / "layers")
    with driver.open() as workspace:
        assert set(tree(workspace.tree)) == set(base.files)
        (workspace.tree / "new.py").touch()
        assert [*workspace.snapshot()] == ["new.py"]
    driver.close()


def test_links_may_lead_to_the_cache(base: BaseSnapshot, tmp_path: Path) -> None:
    """A link leads on in our own view of the files, not in that of the layers."""
    skip_without("overlay", tmp_path)
    (tmp_path / "disk").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "disk")
    driver = OverlayDriver(base, tmp_path / "linked" / "layers")
    with driver.open() as workspace:
        assert set(tree(workspace.tree)) == set(base.files)
    driver.close()


def test_when_the_process_that_keeps_them_ends_so_do_they(driver: OverlayDriver) -> None:
    with driver.open() as workspace:
        process, _, _ = split_view(str(workspace.tree))
        os.kill(process, signal.SIGKILL)
        end = time.monotonic() + 30
        while workspace.tree.exists():
            assert time.monotonic() < end
        with pytest.raises(HostError, match="cannot be read"):
            workspace.snapshot()
        with pytest.raises(DiskError, match="has exited"):
            workspace.reset()
    with driver.open() as workspace:
        assert workspace.snapshot() == {}, "another one keeps the next"


OPENING = """
import sys, time
from pathlib import Path
from remora.files.project_files import project_files
from remora.workspaces.copy.driver_choice import make_driver
from remora.workspaces.copy.snapshot import take_base
root, folder = map(Path, sys.argv[1:])
driver = make_driver("overlay", take_base(root, project_files(root), folder / "base"), folder)
with driver.open() as workspace:
    (workspace.tree / "half").write_text("written")
    print(workspace.tree, flush=True)
    time.sleep(600)
"""


def test_a_kill_leaves_nothing(base: BaseSnapshot, tmp_path: Path) -> None:
    skip_without("overlay", tmp_path)
    words = [sys.executable, "-c", OPENING, str(base.root), str(tmp_path / "killed")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        place = Path(other.stdout.readline().strip())
        assert (place / "half").exists()
        other.kill()
    end = time.monotonic() + 10
    while place.exists():
        assert time.monotonic() < end, "the process that mounts the layers lives on"
    assert list((tmp_path / "killed" / "layers").iterdir()) == []


def test_where_nothing_can_be_mounted_it_says_so(tmp_path: Path) -> None:
    """Here, because the cache is no folder; machines that forbid it: tests/adversarial."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="overlay does not work on this machine") as told:
        require_driver("overlay", tmp_path / "file")
    assert "slot, which works everywhere" in told.value.hint
    require_driver("slot", tmp_path / "file")
    require_driver("auto", tmp_path / "file")


def test_a_base_that_lost_a_file_is_reported(base: BaseSnapshot, tmp_path: Path) -> None:
    shutil.rmtree(base.folder / "pkg")
    driver = make_driver("overlay", base, tmp_path)
    with pytest.raises(DiskError, match="prepare the base for layers"), driver.open():
        pass
    driver.close()
