"""The indexer: what it finds changed, what it reads, and what it stores of it."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.code.file_analysis import read_facts
from remora.errors import DiskError
from remora.hub.file_stamp import stamp_of
from remora.hub.index.indexer import ChangedPaths, Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from tests.hub.index_check import verify


def now() -> datetime:
    return datetime.now(UTC)


class Project:
    """A folder and its index."""

    def __init__(self, root: Path, db: Path) -> None:
        self.root = root
        self.store = HubStore(db, root=root, clock=now)
        self.indexer = Indexer(root, self.store, Members(root))

    def write(self, path: str, text: str | bytes, *, age: float = 10) -> Path:
        """A file that was written `age` seconds ago (as far as its mtime says)."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        then = time.time_ns() - int(age * 1e9)
        os.utime(place, ns=(then, then))
        return place

    def catch_up(self) -> tuple[str, ...]:
        """Keys that changed."""
        look = self.indexer.look()
        return self.indexer.refresh((*look.changed, *look.gone), source="file_change").changed

    def names(self) -> list[str]:
        return [key.removeprefix("node:") for key in list(self.store.view().keys())]

    def check(self) -> None:
        assert verify(self.root, Members(self.root), self.store.view()).differences == ()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "root").mkdir()
    project = Project(tmp_path / "root", tmp_path / "cache" / "hub.db")
    yield project
    project.store.close()


def test_a_new_project_is_read_whole_and_then_not_again(project: Project) -> None:
    project.write("a.py", "def f(): ...\n")
    project.write("pkg/b.py", "def g(): ...\n")
    project.write("notes.txt", "def no(): ...\n")

    look = project.indexer.look()
    assert look == ChangedPaths(changed=("a.py", "pkg/b.py"), gone=())
    done = project.indexer.refresh(look.changed, source="cold_start")

    assert len(done.changed) == 4
    assert project.names() == ["a.py:__module__", "a.py:f", "pkg/b.py:__module__", "pkg/b.py:g"]
    assert project.indexer.look() == ChangedPaths((), ())
    assert project.indexer.refresh(look.changed, source="file_change").changed == ()
    project.check()


def test_nodes_that_only_moved_have_changed(project: Project) -> None:
    project.write("a.py", "def f(): ...\n\ndef g(): ...\n")
    project.catch_up()
    project.write("a.py", "def f():\n    return 1\n\ndef g(): ...\n\ndef h(): ...\n")

    assert project.indexer.look().changed == ("a.py",)
    done = project.indexer.refresh(["a.py"], source="file_change")

    assert set(done.changed) == {f"node:a.py:{name}" for name in ("__module__", "f", "g", "h")}


def test_a_rewrite_of_the_same_size_and_mtime_is_found(project: Project) -> None:
    place = project.write("a.py", "def f(): return 1\n")
    project.catch_up()
    stat = place.stat()

    place.write_text("def f(): return 2\n")
    os.utime(place, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert project.indexer.look().changed == ("a.py",)


def test_two_writes_within_one_tick_of_the_clock_are_distinguished(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A young stamp proves nothing, also when it has become old."""
    place = project.write("a.py", "def f(): return 1\n")
    stat = place.stat()
    with monkeypatch.context() as patch:
        patch.setattr("time.time_ns", lambda: stat.st_ctime_ns + 1_000_000)
        project.catch_up()
    assert project.store.files()["a.py"].stamp is None
    place.write_text("def f(): return 2\n")
    later = time.time_ns() + int(60e9)

    monkeypatch.setattr(
        "remora.hub.members.members.Members.sweep", lambda _: {"a.py": stamp_of(stat)}
    )
    monkeypatch.setattr("time.time_ns", lambda: later)

    assert project.indexer.look().changed == ("a.py",)


def test_touched_files_are_read_and_nothing_is_written(project: Project) -> None:
    places = [project.write(f"m{number}.py", f"x = {number}\n") for number in range(20)]
    project.catch_up()
    changes = project.store._connection.total_changes
    for place in places:
        os.utime(place)

    assert project.indexer.look() == ChangedPaths((), ())
    done = project.indexer.refresh([place.name for place in places], source="file_change")

    assert done.changed == ()
    assert project.store._connection.total_changes == changes


def test_files_that_are_gone_or_ignored_are_removed(project: Project) -> None:
    project.write("a.py", "def f(): ...\n").unlink()
    project.write("b.py", "def g(): ...\n")
    project.write("c.py", "def h(): ...\n")
    project.catch_up()
    (project.root / "b.py").unlink()
    (project.root / ".gitignore").write_text("c.py\n")

    assert project.indexer.look() == ChangedPaths((), ("b.py", "c.py"))
    project.catch_up()

    assert project.names() == []


def test_a_file_that_cannot_be_read_is_reported_and_known_to_nobody(project: Project) -> None:
    project.write("a.py", "def f(): ...\n")
    project.write("b.py", "def g(): ...\n")
    project.catch_up()
    (project.root / "a.py").unlink()
    (project.root / "a.py").mkdir()
    with (project.root / "b.py").open("r+b") as file:
        file.truncate(65 * 1024 * 1024)

    done = project.indexer.refresh(["a.py", "b.py"], source="file_change")

    assert [(error.path, error.detail) for error in done.errors] == [
        ("b.py", "skipped: larger than 1 MiB (hub.max_file_mb)")
    ]
    assert project.names() == []
    (project.root / "b.py").unlink()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (b"def f(:\n\ndef g():\n    return 1\n", "g"),
        (b"def f(): '\xff'\n", None),
        (b"def f(): ...\0\n", None),
        (b"", None),
    ],
)
def test_what_is_not_a_complete_python_is_stored_as_far_as_it_goes(
    project: Project, source: bytes, names: str | None
) -> None:
    project.write("a.py", source)

    look = project.indexer.look()
    done = project.indexer.refresh(look.changed, source="cold_start")

    node = project.store.view().node("node:a.py:__module__")
    assert node is not None
    assert node.partial is bool(source)
    assert [error.path for error in done.errors] == (["a.py"] if source else [])
    assert names is None or f"a.py:{names}" in project.names()
    project.check()


@pytest.mark.parametrize(
    "name", ["caf\udce9.py", "100%.py", "a:b.py", "new\nline.py", "-x.py", "é.py"]
)
def test_odd_names_are_names_like_others(project: Project, name: str) -> None:
    project.write(name, "def f(): ...\n")
    project.write(f"folder {name}/{name}", "def g(): ...\n")

    assert len(project.catch_up()) == 4
    assert set(project.store.files()) == {name, f"folder {name}/{name}"}
    project.check()
    project.write(name, "def h(): ...\n")
    assert len(project.catch_up()) == 3
    (project.root / name).unlink()
    assert len(project.catch_up()) == 2
    project.check()


def test_large_files_are_left_to_others_and_supplied(project: Project) -> None:
    small, large = "def f(): ...\n", "def g(): ...\n" + "# long\n" * 1000
    project.write("a.py", small)
    place = project.write("b.py", large)

    done = project.indexer.refresh(["a.py", "b.py"], source="cold_start", defer_over=1000)
    assert done.deferred == ("b.py",)
    assert project.names() == ["a.py:__module__", "a.py:f"]

    facts = read_facts("b.py", large.encode())
    place.write_text(large + "# and more\n")
    assert (
        project.indexer.supply("b.py", facts.file_hash, facts, source="file_change").changed == ()
    )
    place.write_text(large)
    done = project.indexer.supply("b.py", facts.file_hash, facts, source="cold_start")
    assert len(done.changed) == 2
    project.check()
    place.unlink()
    assert (
        project.indexer.supply("b.py", facts.file_hash, facts, source="file_change").changed == ()
    )


def test_a_vanished_file_and_what_a_link_leads_to_are_not_read(
    project: Project, tmp_path: Path
) -> None:
    place = project.write("a.py", "def f(): ...\n")
    look = project.indexer.look()
    place.unlink()

    done = project.indexer.refresh(look.changed, source="file_change")

    assert (done.changed, done.errors) == ((), ())
    (tmp_path / "outside.py").write_text("def secret(): ...\n")
    (project.root / "a.py").symlink_to(tmp_path / "outside.py")
    (project.root / "folder").symlink_to(tmp_path)
    done = project.indexer.refresh(["a.py", "folder/outside.py"], source="file_change")
    assert (done.changed, done.errors) == (("node:a.py:__module__",), ())
    assert project.names() == ["a.py:__module__"]


def test_a_file_that_changes_while_it_is_read_is_read_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project.write("a.py", "def f(): ...\n")
    real, times = os.fstat, iter(range(100))

    def meddling(file: int) -> os.stat_result:
        found = real(file)
        if next(times) == 0:  # after the first look at it
            place.write_text("def second(): ...\n")
        return found

    monkeypatch.setattr("remora.hub.file_reader.os.fstat", meddling)
    done = project.indexer.refresh(["a.py"], source="file_change")

    assert "node:a.py:second" in done.changed
    assert next(times) > 2


def test_a_root_that_was_removed_is_not_an_empty_project(project: Project) -> None:
    project.write("a.py", "def f(): ...\n")
    project.catch_up()
    away = project.root.with_name("away")
    project.root.rename(away)

    with pytest.raises(DiskError, match="root"):
        project.indexer.look()
    with pytest.raises(DiskError, match="root"):
        project.indexer.refresh(["a.py"], source="file_change")

    assert project.names() == ["a.py:__module__", "a.py:f"]
    away.rename(project.root)
    assert project.indexer.look() == ChangedPaths((), ())


def test_a_deleted_database_is_reported_so_that_all_is_read_again(project: Project) -> None:
    project.write("a.py", "def f(): ...\n")
    project.write("b.py", "def g(): ...\n")
    project.catch_up()
    for path in project.store._db.parent.glob("hub.db*"):
        path.unlink()
    project.write("a.py", "def f(): return 1\n")

    done = project.indexer.refresh(["a.py"], source="file_change")

    assert done.rebuilt
    assert project.indexer.look().changed == ("b.py",)
    project.catch_up()
    project.check()
