"""A database that is damaged, of another version, deleted, full or refused, while others read it."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from remora.errors import DiskError, HubDamaged, HubLocked
from remora.hub.store.hub_database import SUFFIXES
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import StoredSnapshot, open_snapshot
from remora.hub.store.tables import VERSION
from tests.clock import ticking
from tests.hub.store.conftest import put

MANY = {
    f"pkg/m{number}.py": f"def f{number}(x):\n    return x + {number}\n" for number in range(100)
}
READER = """
import sqlite3, sys
c = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, isolation_level=None)
count = "SELECT count(*) FROM node_state"
c.execute("BEGIN")
print(c.execute(count).fetchone()[0], flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        try:
            c.execute("COMMIT")
        except sqlite3.Error:
            pass
    try:
        print(c.execute(count).fetchone()[0], flush=True)
    except sqlite3.Error as error:
        print(type(error).__name__, flush=True)
"""


def opened(db: Path) -> HubStore:
    return HubStore(db, root=Path("/project"), clock=ticking())


class Reader:
    """Another process that has a read transaction open."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.first = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def asks(self, word: str = "again") -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        return self._line()


@contextmanager
def reader(db: Path) -> Iterator[Reader]:
    command = [sys.executable, "-c", READER, str(db)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Reader(process)
        finally:
            process.kill()


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def middle(db: Path) -> None:
    chance = random.Random(2)
    for _ in range(200):
        overwrite(db, chance.randrange(4096, db.stat().st_size), chance.randbytes(200))


def run_sql(db: Path, statement: str) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.execute(statement)


def beside(db: Path, suffix: str) -> None:
    """Overwrite the write-ahead log or its index, if it exists."""
    path = Path(f"{db}{suffix}")
    if path.exists():
        overwrite(path, 0, random.Random(4).randbytes(path.stat().st_size))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda db: overwrite(db, 0, random.Random(1).randbytes(db.stat().st_size)),
    "another head": lambda db: overwrite(db, 0, b"this is no database" * 5),
    "other tables": lambda db: overwrite(db, 100, random.Random(3).randbytes(3000)),
    "a third": lambda db: os.truncate(db, db.stat().st_size // 3),
    "empty": lambda db: os.truncate(db, 0),
    "a word": lambda db: db.write_bytes(b"hello"),
    "damaged in the middle": middle,
    "an older version": lambda db: run_sql(db, "PRAGMA user_version=0"),
    "another Python": lambda db: run_sql(db, f"PRAGMA user_version={VERSION - (1 << 24)}"),
    "a missing table": lambda db: run_sql(db, "DROP TABLE changes"),
    "the log": lambda db: beside(db, "-wal"),
    "the index of the log": lambda db: beside(db, "-shm"),
}


def integrity(db: Path) -> str:
    with closing(sqlite3.connect(db)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def assert_answers_or_says_why(view: StoredSnapshot | None) -> None:
    if view is None:
        return
    try:
        for key in list(view.keys()):
            view.node(key)
        for path in view.paths():
            view.lowered(path)
        view.search("f1", 50)
        view.mentioning("f1")
    except DiskError:
        pass
    finally:
        view.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_rebuilt_while_a_reader_lives_through_it(
    db: Path, damage: str
) -> None:
    with opened(db) as store:
        put(store, MANY)
    with reader(db) as other:
        assert other.first == "200"
        inode = db.stat().st_ino
        DAMAGES[damage](db)
        assert_answers_or_says_why(open_snapshot(db))
        with opened(db) as store:
            anew = store.counts().files == 0
            put(store, {"a.py": "x = 1\n"})
            during, after = other.asks(), other.asks("end")
        assert db.stat().st_ino == inode, "never replaced"
        if damage in ("an older version", "a missing table"):
            assert (during, anew) == ("200", True)
        assert during in {"200", "DatabaseError"}
        assert after == ("1" if anew else "201")
    assert integrity(db) == "ok"
    view = open_snapshot(db)
    assert view is not None
    with closing(view):
        assert view.node("node:a.py:__module__") is not None


@pytest.mark.parametrize("damage", ["garbage", "damaged in the middle"])
def test_damage_that_is_met_while_writing_is_made_good_and_told(db: Path, damage: str) -> None:
    with opened(db) as store:
        put(store, MANY)
        generation = store.generation
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store._connection.execute("PRAGMA cache_size=0")
        DAMAGES[damage](db)
        applied = [
            put(store, {path: text.replace("+", "-")}) for path, text in list(MANY.items())[:20]
        ]
        rebuilt = [each.rebuilt for each in applied]
        assert store.generation > generation
        if True in rebuilt:
            assert len(store.files()) == 20 - rebuilt.index(True)
        put(store, MANY)
        assert store.view().node("node:pkg/m99.py:f99") is not None
    assert any(rebuilt) or damage == "damaged in the middle"


def test_damage_that_is_met_while_reading_is_reported(db: Path) -> None:
    with opened(db) as store:
        put(store, MANY)
        store._connection.execute("UPDATE node_state SET imports = '{', docstring = 7")
        store._connection.execute("UPDATE file_facts SET lowered = x'00'")
        store._connection.execute("DELETE FROM meta")
        view = store.view()
        with pytest.raises(HubDamaged):
            view.node("node:pkg/m1.py:f1")
        with pytest.raises(HubDamaged):
            view.lowered("pkg/m1.py")
        with pytest.raises(HubDamaged):
            _ = view.generation


def test_a_database_that_is_deleted_while_open_is_rebuilt_in_its_place(db: Path) -> None:
    with opened(db) as store:
        put(store, MANY)
        generation = store.generation
        for suffix in SUFFIXES:
            Path(f"{db}{suffix}").unlink()
        applied = put(store, {"a.py": "x = 1\n"})
        assert applied.rebuilt
        assert applied.generation > generation
        assert store.counts().files == 1
        view = open_snapshot(db)
        assert view is not None
        assert list(view.paths()) == ["a.py"]
        view.close()
    assert integrity(db) == "ok"


def test_a_cache_that_is_deleted_whole_is_rebuilt(db: Path) -> None:
    with opened(db) as store:
        put(store, MANY)
        for path in db.parent.iterdir():
            path.unlink()
        db.parent.rmdir()
        assert put(store, {"a.py": "x = 1\n"}).rebuilt
        with pytest.raises(HubLocked):
            opened(db)


def test_a_reader_of_nothing_gets_nothing_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "hub.db").touch()

    assert open_snapshot(tmp_path / "hub.db") is None
    assert open_snapshot(tmp_path / "none" / "hub.db") is None
    assert [path.name for path in tmp_path.iterdir()] == ["hub.db"]
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError):
        opened(tmp_path / "file" / "hub.db")
    assert open_snapshot(tmp_path / "file" / "hub.db") is None


def test_a_foreign_database_is_replaced(tmp_path: Path) -> None:
    db = tmp_path / "hub.db"
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("CREATE TABLE mine (x)")
        connection.executemany("INSERT INTO mine VALUES (?)", [("x" * 100,)] * 500)
        connection.commit()
    assert open_snapshot(db) is None
    with opened(db) as store:
        put(store, MANY)
    assert integrity(db) == "ok"


def test_a_full_disk_is_reported_and_loses_nothing_that_was_stored(db: Path) -> None:
    with opened(db) as store:
        put(store, MANY)
        generation, files = store.generation, dict(store.files())
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(DiskError, match="full") as refused:
            put(store, {f"more/{path}": text for path, text in MANY.items()})
        assert not isinstance(refused.value, HubDamaged)
        assert store.generation == generation
        assert dict(store.files()) == files
        assert store.view().node("node:pkg/m1.py:f1") is not None
        store._connection.execute("PRAGMA max_page_count=1000000")
        assert len(put(store, {"more.py": "x = 1\n"}).changed) == 1


def test_a_database_that_another_program_locks_is_reported_and_not_damaged(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(db) as store:
        put(store, MANY)
        store._connection.execute("PRAGMA busy_timeout=10")
        with closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DiskError, match="locked") as refused:
                put(store, {"a.py": "x = 1\n"})
        assert not isinstance(refused.value, HubDamaged)
        assert put(store, {"a.py": "x = 1\n"}).changed


def test_a_damaged_database_that_another_program_locks_is_not_waited_for_forever(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.store.hub_database._WAIT_S", 0.1)
    with opened(db) as store:
        put(store, MANY)
    DAMAGES["an older version"](db)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DiskError, match="locked"):
            opened(db)
    with opened(db) as store:
        assert store.counts() == (0, 0)


def test_the_log_stays_short_though_a_view_stays_open(db: Path) -> None:
    with opened(db) as store:
        put(store, MANY)
        view = open_snapshot(db)
        assert view is not None
        for number in range(700):
            put(store, {"pkg/m1.py": f"def f1(x):\n    return x + {number}\n"})
            if number % 100 == 0:
                assert view.node("node:pkg/m2.py:f2") is not None
        assert Path(f"{db}-wal").stat().st_size < 12 * 1024 * 1024
        assert view.generation == store.generation
        view.close()


@pytest.mark.parametrize("then", ["write", "restart"])
def test_damage_that_a_reader_met_is_made_good_by_the_next_write_or_start(
    db: Path, then: str
) -> None:
    with opened(db) as store:
        put(store, MANY)
        store._connection.execute("UPDATE node_state SET imports = '{'")
        with pytest.raises(HubDamaged):
            store.view().node("node:pkg/m1.py:f1")
        if then == "write":
            assert put(store, {"a.py": "x = 1\n"}).rebuilt
    with opened(db) as store:
        assert set(store.files()) == ({"a.py"} if then == "write" else set())
        put(store, MANY)
        assert store.view().node("node:pkg/m1.py:f1") is not None
