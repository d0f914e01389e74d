"""`.agentfs/`: private, outside git, opened without following links."""

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import DiskError, NotFound, UsageError
from remora.trace.stream_lock import is_locked
from remora.trace.trace_folder import TraceFolder
from tests.odd_files import ODD
from tests.trace.conftest import play_run

PARTS = ["traces", "runs", "blobs", "objects"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_everything_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        folder = TraceFolder(tmp_path)
        folder.create()
        play_run(folder)
    finally:
        os.umask(before)
    found = [folder.path, *folder.path.rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()}
    assert modes == {0o700}
    files = {path: stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()}
    assert set(files.values()) == {0o600}
    assert {path.parent.name for path in files} >= {"traces", "runs", ".agentfs"}


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / ".agentfs" / "traces").mkdir(parents=True)
    (tmp_path / ".agentfs").chmod(0o755)
    folder = TraceFolder(tmp_path)
    folder.create()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.traces.stat().st_mode) == 0o700


def test_git_sees_nothing_of_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    folder = TraceFolder(tmp_path)
    folder.create()
    folder.create()
    status = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain"], check=True, capture_output=True
    )
    assert status.stdout == b""


@pytest.mark.parametrize("theirs", ["", "*.db\n", "!*\n", "*\n!*/\n", "*\n!.gitignore\n", "folder"])
def test_an_ignore_file_of_another_tool_is_kept_and_git_sees_nothing_of_ours(
    theirs: str, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    place = tmp_path / ".agentfs" / ".gitignore"
    (place if theirs == "folder" else place.parent).mkdir(parents=True)
    if theirs != "folder":
        place.write_text(theirs)
    folder = TraceFolder(tmp_path)
    folder.create()
    play_run(folder)
    folder.create()
    words = ("ls-files", "--others", "--exclude-standard")
    seen = subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True).stdout
    assert set(seen.decode().split()) <= {".agentfs/.gitignore"}
    assert list(folder.agent_streams())
    assert theirs == "folder" or place.read_text() == theirs


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_link_in_its_place_is_refused_and_nothing_is_written_behind_it(
    part: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root = tmp_path / "root"
    (root / ".agentfs" if part else root).mkdir(parents=True)
    (root / ".agentfs" / part).symlink_to(elsewhere)
    folder = TraceFolder(root)
    with pytest.raises(DiskError, match="link"):
        folder.create()
    with pytest.raises(DiskError, match="link"):
        folder.check()
    assert list(elsewhere.iterdir()) == []


def test_a_missing_root_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="nowhere"):
        TraceFolder(tmp_path / "nowhere").create()


@pytest.mark.parametrize("name", ["", "../x", "A", ".x", "a/b", "x" * 65, "ü"])
def test_only_ids_name_streams(name: str, folder: TraceFolder) -> None:
    with pytest.raises(UsageError):
        folder.agent_stream(name)
    with pytest.raises(UsageError):
        folder.run_stream(name)
    with pytest.raises(NotFound):
        folder.existing_agent(name)


def test_an_unknown_agent_is_answered_with_the_nearest(folder: TraceFolder) -> None:
    play_run(folder)
    with pytest.raises(NotFound) as error:
        folder.existing_agent("lint-df01")
    assert "(did you mean 'lint-df01fe3c9d2d'?)" in error.value.message
    with pytest.raises(NotFound):
        folder.existing_run("lint-df01fe3c9d2d")
    assert folder.existing_run("run-1") == folder.run_stream("run-1")


@pytest.mark.parametrize("make", ODD)
def test_a_lease_that_is_no_file_is_none(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = TraceFolder(tmp_path)
    folder.create()
    play_run(folder)
    (stream,) = folder.run_streams()
    make(stream.with_name(f".{stream.name}.lease"))
    assert not is_locked(stream)
