"""The clones and trees of workers: made once, kept while they are used, and then removed."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remora.errors import NotFound, OutsideError
from remora.files.file_lock import locked
from remora.runs.execution import shared_repository
from remora.workspaces.commit_checkout import Origin, checked_out
from remora.workspaces.repository_cache import remove_if_unused, remove_unused, repositories_folder

HOLD = """
import os, sys, time
from pathlib import Path
from remora.workspaces.commit_checkout import Origin, checked_out

source, commit, cache = sys.argv[1:]
with checked_out(Origin(source), commit, Path(cache), os.environ) as tree:
    print(tree, flush=True)
    time.sleep(60)
"""
REPEAT = """
import os, sys
from pathlib import Path
from remora.workspaces.commit_checkout import Origin, checked_out

source, commit, cache = sys.argv[1:]
for _ in range(20):
    with checked_out(Origin(source), commit, Path(cache), os.environ) as tree:
        assert (tree / "a.py").read_text() == "one"
"""
LONG_AGO = time.time() - 30 * 86_400


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit_in(repository: Path, text: str) -> str:
    (repository / "a.py").write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "update-ref", "refs/remora/run", commit)
    return commit


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("committed")
    git(folder, "init", "-q")
    commit_in(folder, "one")
    return folder


@pytest.fixture
def repository(committed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(committed, tmp_path / "repository"))


@contextmanager
def other_process(repository: Path, cache: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process that has a tree of the newest commit."""
    words = (str(repository), git(repository, "rev-parse", "HEAD"), str(cache))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        tree = Path(process.stdout.readline().strip())
        try:
            yield process, tree
        finally:
            process.kill()


def check_out(origin: Origin, commit: str, cache: Path) -> str:
    with checked_out(origin, commit, cache, os.environ) as tree:
        return (tree / "a.py").read_text()


def names(cache: Path, pattern: str) -> list[str]:
    return [path.name for path in repositories_folder(cache).glob(pattern)]


def clone_in(cache: Path) -> Path:
    (use,) = repositories_folder(cache).glob("*.use")
    return use.with_suffix("")


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_unlocked(path: Path) -> bool:
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def test_the_tree_of_a_killed_process_is_removed_and_that_of_a_living_one_kept(
    repository: Path, tmp_path: Path
) -> None:
    commit, cache = git(repository, "rev-parse", "HEAD"), tmp_path / "cache"
    with other_process(repository, cache) as (_, living):
        with other_process(repository, cache) as (process, left):
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert (left / "a.py").exists()
            assert check_out(Origin(str(repository)), commit, cache) == "one"
        assert names(cache, "new-*") == [living.name]
        assert (living / "a.py").read_text() == "one"
        assert git(living, "status", "--porcelain") == ""
    assert names(cache, "gone-*") == []


def test_a_clone_that_was_not_used_for_a_month_is_removed(repository: Path, tmp_path: Path) -> None:
    commit, cache = git(repository, "rev-parse", "HEAD"), tmp_path / "cache"
    other = Origin(f"file://{repository}")
    check_out(other, commit, cache)
    (use,) = repositories_folder(cache).glob("*.use")
    clone = use.with_suffix("")
    check_out(Origin(str(repository)), commit, cache)
    assert (clone / "HEAD").exists()
    os.utime(use, (LONG_AGO, LONG_AGO))
    check_out(Origin(str(repository)), commit, cache)
    assert not clone.exists()
    assert check_out(other, commit, cache) == "one"
    assert names(cache, "gone-*") == []


def test_a_clone_that_is_used_is_kept_however_long_that_takes(
    repository: Path, tmp_path: Path
) -> None:
    commit, cache = git(repository, "rev-parse", "HEAD"), tmp_path / "cache"
    with other_process(repository, cache) as (_, tree):
        (use,) = repositories_folder(cache).glob("*.use")
        os.utime(use, (LONG_AGO, LONG_AGO))
        check_out(Origin(f"file://{repository}"), commit, cache)
        assert git(tree, "rev-parse", "HEAD") == commit


def test_the_trees_of_another_machine_with_the_same_cache_are_kept(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    with monkeypatch.context() as other_machine:
        other_machine.setattr(socket, "gethostname", lambda: "../other")
        tree = repositories_folder(cache) / "new-1"  # its lock is not known here
    tree.mkdir(parents=True)
    assert tree.parent.parent == repositories_folder(cache).parent
    check_out(Origin(str(repository)), git(repository, "rev-parse", "HEAD"), cache)
    assert tree.exists()


def test_the_folder_of_a_machine_that_is_gone_is_removed(tmp_path: Path) -> None:
    folder = repositories_folder(tmp_path)
    for name, used in (("host-gone", LONG_AGO), ("host-other", time.time())):
        other = folder.parent / name
        (other / "clone").mkdir(parents=True)
        (other / "clone.use").touch()
        os.utime(other / "clone.use", (used, used))
        os.utime(other, (LONG_AGO, LONG_AGO))
    (folder.parent / "host-new").mkdir()
    folder.mkdir()
    remove_unused(folder)
    left = {path.name for path in folder.parent.iterdir()}
    assert left == {folder.name, "host-other", "host-new"}
    assert names(tmp_path, "gone-*") == []


def test_what_cannot_be_removed_is_reported_and_stops_no_other_removal(tmp_path: Path) -> None:
    (tmp_path / "gone-1").touch()  # not a folder
    for name in ("unused", "gone-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "unused.use").touch()
    os.utime(tmp_path / "unused.use", (LONG_AGO, LONG_AGO))
    with pytest.raises(NotADirectoryError):
        remove_if_unused(tmp_path / "gone-1", tmp_path)
    remove_unused(tmp_path)
    assert not (tmp_path / "unused").exists()
    assert [path.is_file() for path in tmp_path.glob("gone-*")] == [True]


def test_a_clone_stays_locked_until_the_git_of_a_killed_process_ends(tmp_path: Path) -> None:
    ssh, started, hold = (tmp_path / name for name in ("ssh", "started", "hold"))
    ssh.write_text(f"#!/bin/sh\ntouch {started}\nwhile test -e {hold}; do sleep 0.02; done\nexit 1")
    ssh.chmod(0o700)
    hold.touch()
    (tmp_path / ".gitconfig").write_text(f"[core]\nsshCommand = {ssh}\n")
    cache = tmp_path / "cache"
    words = ("ssh://host/repository", "0" * 40, str(cache))
    environment = {**os.environ, "HOME": str(tmp_path)}
    try:
        with subprocess.Popen([sys.executable, "-c", HOLD, *words], env=environment) as process:
            wait_until(started.exists)
            process.kill()
        lock = clone_in(cache).with_suffix(".lock")
        assert not is_unlocked(lock)
    finally:
        hold.unlink()
    wait_until(lambda: is_unlocked(lock))


def test_a_process_that_git_left_keeps_nothing_locked(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as lock:
        left = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
    try:
        assert is_unlocked(tmp_path / "lock")
    finally:
        left.kill()
        left.wait()


def test_what_a_killed_git_left_does_not_stop_the_next_one(
    repository: Path, tmp_path: Path
) -> None:
    origin, cache = Origin(str(repository)), tmp_path / "cache"
    commit = git(repository, "rev-parse", "HEAD")
    check_out(origin, commit, cache)
    clone = clone_in(cache)
    number = clone.stat().st_ino
    (clone / "packed-refs.lock").touch()
    (clone / (git(clone, "for-each-ref", "--format=%(refname)") + ".lock")).touch()
    assert check_out(origin, commit, cache) == "one"
    assert clone.stat().st_ino == number  # it was not fetched again


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_processes_that_use_a_clone_at_once_do_not_disturb_each_other(
    repository: Path, tmp_path: Path
) -> None:
    cache, commit = tmp_path / "cache", git(repository, "rev-parse", "HEAD")
    check_out(Origin(str(repository)), commit, cache)
    clone, words = clone_in(cache), (str(repository), commit, str(cache))
    number = clone.stat().st_ino
    processes = [subprocess.Popen([sys.executable, "-c", REPEAT, *words]) for _ in range(8)]
    while any(process.poll() is None for process in processes):
        with locked(clone.with_suffix(".lock")):
            git(clone, "worktree", "prune")
    assert [process.wait() for process in processes] == [0] * 8
    assert clone.stat().st_ino == number  # it was not replaced


def empty_objects(clone: Path) -> None:
    for path in (clone / "objects").glob("??/*"):
        empty(path)


def empty_blob(clone: Path) -> None:
    ref = git(clone, "for-each-ref", "--format=%(refname)")
    blob = git(clone, "rev-parse", f"{ref}:a.py")
    empty(clone / "objects" / blob[:2] / blob[2:])


def empty_refs(clone: Path) -> None:
    for path in (clone / "refs/fetched").glob("*/*"):
        empty(path)


def remove_objects(clone: Path) -> None:
    """Leave what a killed `git init` leaves."""
    shutil.rmtree(clone / "objects")


def empty(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "text"),
    [(empty_objects, "two"), (empty_blob, "one"), (empty_refs, "one"), (remove_objects, "one")],
)
def test_a_damaged_clone_is_replaced(
    repository: Path, tmp_path: Path, damage: Callable[[Path], None], text: str
) -> None:
    git(tmp_path, "init", "-q")  # the cache may be in a repository
    origin, cache = Origin(str(repository)), tmp_path / "cache"
    check_out(origin, git(repository, "rev-parse", "HEAD"), cache)
    damage(clone_in(cache))
    if text == "two":
        commit_in(repository, text)
    commit = git(repository, "rev-parse", "HEAD")
    assert check_out(origin, commit, cache) == text
    assert check_out(origin, commit, cache) == text
    assert names(cache, "new-*") == []
    assert len(list((clone_in(cache) / "worktrees").iterdir())) == 1
    assert not (tmp_path / ".git" / "worktrees").exists()
    assert git(tmp_path, "for-each-ref") == ""


def test_a_clone_is_replaced_only_if_the_repository_can_be_fetched(
    repository: Path, tmp_path: Path
) -> None:
    origin, cache = Origin(str(repository)), tmp_path / "cache"
    commit = git(repository, "rev-parse", "HEAD")
    check_out(origin, commit, cache)
    with pytest.raises(NotFound, match="has no commit 0000"):
        check_out(origin, "0" * 40, cache)
    repository.rename(tmp_path / "moved")
    with pytest.raises(OutsideError, match="cannot be fetched"):
        check_out(origin, "0" * 40, cache)
    assert check_out(origin, commit, cache) == "one"
    assert names(cache, "new-*") == names(cache, "gone-*") == []


def test_a_clone_that_was_last_used_a_month_ago_is_used(repository: Path, tmp_path: Path) -> None:
    origin, cache = Origin(str(repository)), tmp_path / "cache"
    commit = git(repository, "rev-parse", "HEAD")
    check_out(origin, commit, cache)
    use = clone_in(cache).with_suffix(".use")
    os.utime(use, (LONG_AGO, LONG_AGO))
    shutil.rmtree(repository)
    assert check_out(origin, commit, cache) == "one"
    remove_unused(use.parent)
    assert check_out(origin, commit, cache) == "one"


def test_an_error_of_the_disk_is_told_from_one_in_the_block(
    repository: Path, tmp_path: Path
) -> None:
    origin, commit = Origin(str(repository)), git(repository, "rev-parse", "HEAD")
    (tmp_path / "file").touch()
    with pytest.raises(OutsideError, match="Not a directory") as refused:
        check_out(origin, commit, tmp_path / "file" / "cache")
    assert "disk" in refused.value.hint
    with (
        pytest.raises(FileNotFoundError),
        checked_out(origin, commit, tmp_path / "cache", os.environ) as tree,
    ):
        (tree / "missing").read_text()


def test_refs_that_were_not_used_for_a_month_are_deleted(repository: Path, tmp_path: Path) -> None:
    origin, cache = Origin(str(repository)), tmp_path / "cache"
    old = git(repository, "rev-parse", "HEAD")
    check_out(origin, old, cache)
    (ref,) = git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()
    month_ago = datetime.now(UTC).date() - timedelta(days=30)
    for day in (month_ago, month_ago - timedelta(days=1)):
        git(clone_in(cache), "update-ref", f"refs/fetched/{day}/{old}", old)
    git(clone_in(cache), "update-ref", "-d", ref)
    new = commit_in(repository, "two")
    assert check_out(origin, new, cache) == "two"
    refs = git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()
    assert refs == [f"refs/fetched/{month_ago}/{old}", ref.replace(old, new)]
    shutil.rmtree(repository / ".git")
    assert check_out(origin, old, cache) == "one"
    assert ref in git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()


def test_bundles_of_a_repository_share_a_clone_and_are_not_kept(
    repository: Path, tmp_path: Path
) -> None:
    made = list[Path]()

    def bundle(folder: Path) -> Path:
        made.append(folder / "b")
        git(repository, "bundle", "create", "-q", str(folder / "b"), "refs/remora/run")
        return folder / "b"

    origin, cache = Origin("machine:/repository", bundle), tmp_path / "cache"
    for text, number in (("one", 1), ("one", 1), ("two", 2)):
        if number == 2:
            commit_in(repository, text)
        commit = git(repository, "rev-parse", "HEAD")
        assert check_out(origin, commit, cache) == text
        assert len(made) == number
    assert not made[-1].parent.exists()
    assert len(names(cache, "*.use")) == 1


def test_a_bundle_that_is_too_large_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "gc", "-q")  # the history is smaller than its bundle, which has a header
    small = shared_repository._make_bundle(repository, "refs/remora/run")
    assert small.startswith(b"# v2 git bundle")
    monkeypatch.setattr(shared_repository, "_MAX_BUNDLE", len(small) - 1)
    with pytest.raises(OutsideError, match="too large") as refused:
        shared_repository._make_bundle(repository, "refs/remora/run")
    assert "push the commit" in refused.value.hint
