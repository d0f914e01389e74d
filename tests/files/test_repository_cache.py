"""The clones and trees of workers: made once, kept while they are used, and then removed."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.git_fetch import Source, checked_out
from remora.files.repository_cache import locked, remove_unused, repositories_folder
from remora.runs.execution import shared_repository

HOLD = """
import os, sys, time
from pathlib import Path
from remora.files.git_fetch import Source, checked_out

source, commit, cache = sys.argv[1:]
with checked_out(Source(source), commit, Path(cache), os.environ) as tree:
    print(tree, flush=True)
    time.sleep(60)
"""
LONG_AGO = time.time() - 8 * 86_400


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit_in(repository: Path, text: str) -> str:
    (repository / "a.py").write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", text)
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "update-ref", "refs/remora/run", commit)
    return commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    commit_in(folder, "one")
    return folder


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


def check_out(source: Source, commit: str, cache: Path) -> str:
    with checked_out(source, commit, cache, os.environ) as tree:
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
            assert check_out(Source(str(repository)), commit, cache) == "one"
        assert names(cache, "tree-*") == [living.name]
        assert (living / "a.py").read_text() == "one"
        assert git(living, "status", "--porcelain") == ""
    assert names(cache, "gone-*") == []


def test_a_clone_that_was_not_used_for_a_week_is_removed(repository: Path, tmp_path: Path) -> None:
    commit, cache = git(repository, "rev-parse", "HEAD"), tmp_path / "cache"
    other = Source(f"file://{repository}")
    check_out(other, commit, cache)
    (use,) = repositories_folder(cache).glob("*.use")
    clone = use.with_suffix("")
    check_out(Source(str(repository)), commit, cache)
    assert (clone / "HEAD").exists()
    os.utime(use, (LONG_AGO, LONG_AGO))
    check_out(Source(str(repository)), commit, cache)
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
        check_out(Source(f"file://{repository}"), commit, cache)
        assert git(tree, "rev-parse", "HEAD") == commit


def test_the_trees_of_another_machine_with_the_same_cache_are_kept(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    with monkeypatch.context() as other_machine:
        other_machine.setattr(socket, "gethostname", lambda: "../other")
        tree = repositories_folder(cache) / "tree-1"  # its lock is not known here
    tree.mkdir(parents=True)
    assert tree.parent.parent == repositories_folder(cache).parent
    check_out(Source(str(repository)), git(repository, "rev-parse", "HEAD"), cache)
    assert tree.exists()


def test_what_an_interrupted_removal_left_is_removed(repository: Path, tmp_path: Path) -> None:
    commit, cache = git(repository, "rev-parse", "HEAD"), tmp_path / "cache"
    (repositories_folder(cache) / "gone-tree-1" / "deep").mkdir(parents=True)
    check_out(Source(str(repository)), commit, cache)
    assert names(cache, "gone-*") == []


def test_a_folder_that_cannot_be_renamed_stays_unlocked_and_stops_no_other_removal(
    tmp_path: Path,
) -> None:
    long = "n" * 240  # with the prefix `gone-`, too long for a name
    (tmp_path / f"tree-{long}").mkdir()
    (tmp_path / long).mkdir()
    (tmp_path / f"{long}.use").touch()
    (tmp_path / "unused").mkdir()
    (tmp_path / "unused.use").touch()
    for use in tmp_path.glob("*.use"):
        os.utime(use, (LONG_AGO, LONG_AGO))
    (tmp_path / "gone-1").mkdir()
    remove_unused(tmp_path)
    assert not (tmp_path / "unused").exists()
    assert not (tmp_path / "gone-1").exists()
    for path in (tmp_path / f"tree-{long}", tmp_path / f"{long}.use"):
        assert path.exists()
        assert is_unlocked(path)


def test_what_was_removed_meanwhile_stops_no_other_removal(tmp_path: Path) -> None:
    for name in ("tree-1", "clone.use"):  # they are listed, but cannot be opened
        (tmp_path / name).symlink_to(tmp_path / "missing")
    for name in ("tree-2", "gone-1", "unused"):
        (tmp_path / name).mkdir()
    (tmp_path / "unused.use").touch()
    os.utime(tmp_path / "unused.use", (LONG_AGO, LONG_AGO))
    remove_unused(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"tree-1", "clone.use", "trees.lock", "unused.use"}


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
        (clone,) = repositories_folder(cache).glob("*/")
        assert not is_unlocked(clone.with_suffix(".lock"))
    finally:
        hold.unlink()
    wait_until(lambda: is_unlocked(clone.with_suffix(".lock")))


def test_a_process_that_git_left_keeps_nothing_locked(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as lock:
        left = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
    try:
        assert is_unlocked(tmp_path / "lock")
    finally:
        left.kill()
        left.wait()


def test_a_fetch_that_was_killed_does_not_stop_the_next_one(
    repository: Path, tmp_path: Path
) -> None:
    source, cache = Source(str(repository)), tmp_path / "cache"
    check_out(source, git(repository, "rev-parse", "HEAD"), cache)
    (use,) = repositories_folder(cache).glob("*.use")
    commit = commit_in(repository, "two")
    (use.with_suffix("") / "packed-refs.lock").touch()
    (use.with_suffix("") / "refs" / "fetched" / "a.lock").touch()
    use.with_suffix(".bundle").mkdir()
    assert check_out(source, commit, cache) == "two"


def test_a_commit_that_was_not_fetched_completely_is_fetched_again(
    repository: Path, tmp_path: Path
) -> None:
    source, cache = Source(str(repository)), tmp_path / "cache"
    check_out(source, git(repository, "rev-parse", "HEAD"), cache)
    commit = commit_in(repository, "two")
    part = Path("objects") / commit[:2] / commit[2:]
    (clone_in(cache) / part).parent.mkdir(exist_ok=True)
    (clone_in(cache) / part).write_bytes((repository / ".git" / part).read_bytes())
    assert check_out(source, commit, cache) == "two"


def test_refs_that_were_not_used_for_a_week_are_deleted(repository: Path, tmp_path: Path) -> None:
    source, cache = Source(str(repository)), tmp_path / "cache"
    old = git(repository, "rev-parse", "HEAD")
    check_out(source, old, cache)
    (ref,) = git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()
    week_ago = datetime.now(UTC).date() - timedelta(days=7)
    for day in (week_ago, week_ago - timedelta(days=1)):
        git(clone_in(cache), "update-ref", f"refs/fetched/{day}/{old}", old)
    git(clone_in(cache), "update-ref", "-d", ref)
    new = commit_in(repository, "two")
    assert check_out(source, new, cache) == "two"
    refs = git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()
    assert refs == [f"refs/fetched/{week_ago}/{old}", ref.replace(old, new)]
    shutil.rmtree(repository / ".git")
    assert check_out(source, old, cache) == "one"
    assert ref in git(clone_in(cache), "for-each-ref", "--format=%(refname)").split()


def test_bundles_of_a_repository_share_a_clone_and_are_not_kept(
    repository: Path, tmp_path: Path
) -> None:
    made = list[Path]()

    def bundle(folder: Path) -> Path:
        made.append(folder / "b")
        git(repository, "bundle", "create", "-q", str(folder / "b"), "refs/remora/run")
        return folder / "b"

    source, cache = Source("machine:/repository", bundle), tmp_path / "cache"
    for text, number in (("one", 1), ("one", 1), ("two", 2)):
        if number == 2:
            commit_in(repository, text)
        commit = git(repository, "rev-parse", "HEAD")
        assert check_out(source, commit, cache) == text
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


def test_a_history_that_is_too_large_is_refused_before_it_is_written(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError):
        shared_repository._make_bundle(repository, "refs/remora/run")
    monkeypatch.setattr(shared_repository, "_MAX_BUNDLE", 100)
    with pytest.raises(OutsideError, match="too large"):
        shared_repository._make_bundle(repository, "refs/remora/run")
