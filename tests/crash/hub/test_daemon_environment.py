"""The environment of a running daemon breaks: answers stay correct or say that they are not fresh."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remora.hub.client import Context, HubClient
from remora.hub.process import control
from tests.hub.client.conftest import GENEROUS, House, ask
from tests.hub.index_check import assert_right
from tests.hub.torture.daemons import PATIENCE_S, Hubs, hubs

KEY = "node:shop.py:price"
CALLER = "node:basket.py:total"


def shop(number: int) -> str:
    return f"def price(x={number}):\n    return x\n"


@pytest.fixture
def some() -> Iterator[Hubs]:
    """A daemon on a small project."""
    with hubs() as made:
        called = "from shop import price\n\n\ndef total():\n    return price()\n"
        made.house.write({"shop.py": shop(0), "basket.py": called})
        made.start()
        yield made


class Editor:
    """Edits and asks; what is told as fresh must be so."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.client: HubClient = house.client(deadline=GENEROUS)
        self.number = 0

    def edit_and_ask(self) -> Context:
        self.number += 1
        self.house.write({"shop.py": shop(self.number)})
        found = ask(self.client, [KEY])
        assert found.source is not None
        if found.source != "socket" or (KEY in found and found[KEY].fresh):
            assert found[KEY].signature == f"def price(x={self.number})"
        said = asyncio.run(self.client.callers(KEY))
        assert said is not None
        if said["fresh"] and said["callers"] is not None:
            assert [edge["key"] for edge in said["callers"]] == [CALLER]
        return found

    def until_it_is_well(self) -> None:
        """Until the daemon itself tells what is so."""
        until = time.monotonic() + PATIENCE_S
        while True:
            found = self.edit_and_ask()
            if found.source == "socket" and KEY in found and found[KEY].fresh:
                return
            assert time.monotonic() < until, "it is never well again"
            time.sleep(0.1)


def overwritten(path: Path) -> None:
    """By another process: closing the file here would release the locks of the client's reader."""
    words = ["dd", f"of={path}", "conv=notrunc", "status=none"]
    subprocess.run(words, input=b"nothing of the kind" * 500, check=True)


def deleted_with_its_log(db: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        db.with_name(db.name + suffix).unlink(missing_ok=True)


def a_folder_instead(db: Path) -> None:
    db.unlink()
    db.mkdir()
    db.rmdir()


BREAKS: dict[str, Callable[[Path], object]] = {
    "overwritten": overwritten,
    "cut": lambda db: os.truncate(db, 5000),
    "log overwritten": lambda db: overwritten(db.with_name(db.name + "-wal")),
    "deleted": lambda db: db.unlink(),
    "deleted with its log": deleted_with_its_log,
    "cache removed": lambda db: shutil.rmtree(db.parent),
    "a folder instead": a_folder_instead,
}


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("broken", BREAKS)
def test_a_database_that_breaks_again_and_again(broken: str, some: Hubs) -> None:
    editor = Editor(some.house)
    for _ in range(3):
        editor.edit_and_ask()
        BREAKS[broken](some.house.places.db)
        for _ in range(5):
            editor.edit_and_ask()
        editor.until_it_is_well()
    assert_right(some.house)


@pytest.mark.slow
def test_a_database_locked_by_another_connection(some: Hubs) -> None:
    editor = Editor(some.house)
    editor.edit_and_ask()
    connection = sqlite3.connect(some.house.places.db, isolation_level=None, timeout=20)
    try:
        connection.execute("BEGIN IMMEDIATE")
        found = editor.edit_and_ask()
        assert found.source != "socket" or not found[KEY].fresh
        connection.execute("ROLLBACK")
    finally:
        connection.close()
    editor.until_it_is_well()


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs", str(place)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("this user may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_disk_that_is_full_for_a_while() -> None:
    with hubs() as some, small_disk(some.house.folder / "home"):
        some.house.write({"shop.py": shop(0), "basket.py": "from shop import price\n\n\n"
                          "def total():\n    return price()\n"})  # fmt: skip
        child = some.start()
        editor = Editor(some.house)
        editor.edit_and_ask()
        fill(some.house.folder / "home/filler")
        some.house.write({f"m{n}.py": f"def f{n}():\n    return 1\n" * 50 for n in range(100)})
        for _ in range(3):
            found = editor.edit_and_ask()
            assert found.source != "socket" or not found[KEY].fresh
        assert child.poll() is None
        (some.house.folder / "home/filler").unlink()
        editor.until_it_is_well()
        assert len(ask(editor.client, [f"node:m{n}.py:f{n}" for n in range(100)])) == 100
        assert_right(some.house)


def fill(path: Path) -> None:
    """Until nothing more goes there."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


@pytest.mark.slow
def test_a_root_that_is_replaced_by_another(some: Hubs) -> None:
    root, editor = some.house.root, Editor(some.house)
    for number in range(3):
        editor.edit_and_ask()
        other = root.with_name(f"other{number}")
        shutil.copytree(root, other)
        (other / "shop.py").write_text(f"def price(y={number}):\n    return y\n")
        root.rename(root.with_name(f"old{number}"))
        nothing = ask(editor.client, [KEY])
        assert KEY not in nothing or not nothing[KEY].fresh
        other.rename(root)
        found = ask(editor.client, [KEY])
        if found[KEY].fresh:
            assert found[KEY].signature == f"def price(y={number})"
        editor.until_it_is_well()


@pytest.mark.slow
def test_nothing_of_gits_own_is_touched_whatever_git_does(some: Hubs) -> None:
    root = some.house.root
    for words in (["init", "-q", "."], ["add", "."]):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / ".git/index.lock").write_bytes(b"")
    editor = Editor(some.house)
    before = everything_in(root / ".git")
    for number in range(5):
        some.house.write({f"new{number}.py": "x = 1\n"})
        editor.edit_and_ask()
    editor.until_it_is_well()
    assert_right(some.house)
    assert everything_in(root / ".git") == before


def everything_in(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    there = ((str(path), path.lstat()) for path in folder.rglob("*"))
    return {
        path: (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        for path, about in there
    }


def race(some: Hubs, starters: int) -> None:
    """Several begin at once: one stays, the others end well, and clients find the one."""
    children = [some.begin() for _ in range(starters)]
    client = some.house.client()
    until = time.monotonic() + PATIENCE_S
    while sum(child.poll() is None for child in children) > 1:
        assert time.monotonic() < until, "there are two"
        time.sleep(0.02)
    while ask(client, [KEY]).source != "socket":
        assert time.monotonic() < until, "none can be asked"
    alive = [child for child in children if child.poll() is None]
    assert len(alive) == 1
    assert control.running(some.house.places) == alive[0].pid
    for child in children:
        assert child in alive or child.returncode == 0, some.said(child)
    if starters % 2:
        alive[0].kill()  # what it leaves behind is in nobody's way
    else:
        alive[0].terminate()
    alive[0].wait()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_races() -> None:
    with hubs() as some:
        some.house.write({"shop.py": shop(0)})
        for number in range(20):
            race(some, 2 + number % 3)
