"""The store: what it keeps, what it writes, and what it leaves alone."""

import os
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.code.ir.model import encode_lowered
from remora.errors import DiskError, HubLocked
from remora.hub.file_stamp import Stamp
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.store.batch import Batch
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import SharedState, StoredSnapshot, open_snapshot
from tests.clock import ticking
from tests.hub.small_files import facts_of
from tests.hub.store.conftest import put, update_of

SHOP = {
    "shop/orders.py": "from shop import tax\n\ndef total(x):\n    return tax.add(x)\n",
    "shop/tax.py": "def add(x):\n    '''Add it.'''\n    return x * 2\n",
    "odd%25name.py": "class Rate(dict, object):\n    @property\n    def of(self) -> int: ...\n",
}
STAMP = Stamp(10, 20, 30, 40)


def everything(store: HubStore) -> dict[str, bytes]:
    """The bytes of all files of the database."""
    db = store._db
    return {name.name: name.read_bytes() for name in db.parent.iterdir() if "shm" not in name.name}


def test_a_stored_view_answers_what_a_view_of_the_same_files_in_memory_answers(
    store: HubStore, db: Path
) -> None:
    put(store, SHOP)
    memory = MemorySnapshot({f.path: f for f in (facts_of(p, s) for p, s in SHOP.items())})
    other = open_snapshot(db)
    assert other is not None
    for view in (store.view(), other):
        assert sorted(view.keys()) == sorted(memory.keys())
        assert set(view.paths()) == set(memory.paths())
        assert view.lowered("nowhere.py") is None
        for path in memory.paths():
            ours, theirs = view.lowered(path), memory.lowered(path)
            assert ours is not None
            assert theirs is not None
            assert encode_lowered(ours) == encode_lowered(theirs)
            assert [n.facts for n in view.nodes(path)] == [n.facts for n in memory.nodes(path)]
        for name in ("tax", "add", "nobody", "\ud800"):
            assert list(view.mentioning(name)) == list(memory.mentioning(name))
        for query in ("add", "TAX add", "shop/tax.py:add", "", "zzz", "rate of", "\ud800", "a\0b"):
            found = [node.facts.key for node in view.search(query, 3)]
            assert found == [node.facts.key for node in memory.search(query, 3)], query
        assert view.node("node:nowhere.py:f") is None
        assert view.node("node:\ud800:f") is None
    other.close()


def test_a_stored_node_has_a_time_and_a_source(store: HubStore) -> None:
    put(store, SHOP, source="cold_start")

    node = store.view().node("node:shop/tax.py:add")

    assert node is not None
    assert node.last_updated == "2026-01-02T03:04:07.000006Z"
    assert node.update_source == "cold_start"
    assert node.file_hash == facts_of("shop/tax.py", SHOP["shop/tax.py"]).file_hash


def test_an_edit_changes_time_and_source_of_what_it_changed_only(store: HubStore) -> None:
    put(store, {"a.py": "def f():\n    return 1\n\ndef g():\n    return 2\n"}, source="cold_start")
    before = store.view().node("node:a.py:g")

    put(store, {"a.py": "# new\ndef f():\n    return 3\n\ndef g():\n    return 2\n"})

    f, g = store.view().node("node:a.py:f"), store.view().node("node:a.py:g")
    assert f is not None
    assert g is not None
    assert before is not None
    assert (g.last_updated, g.update_source) == (before.last_updated, "cold_start")
    assert g.facts.line_start == before.facts.line_start + 1
    assert (f.last_updated or "") > (before.last_updated or "")
    assert f.update_source == "file_change"


def test_the_generation_begins_at_the_milliseconds_since_1970_and_grows_by_one(db: Path) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    with HubStore(db, root=Path("/project"), clock=lambda: now) as store:
        beginning = int(now.timestamp() * 1000)
        assert store.generation == beginning
        assert put(store, SHOP).generation == beginning + 1
        assert put(store, SHOP).generation == beginning + 1
        assert put(store, {"shop/tax.py": None}).generation == beginning + 2
    with HubStore(db, root=Path("/project"), clock=lambda: now) as store:
        assert store.generation == beginning + 2
        store.rebuild()
        assert store.generation == beginning + 3, "it never goes back"
        assert store.counts() == (0, 0)


def test_an_unchanged_batch_writes_nothing(store: HubStore) -> None:
    put(store, SHOP)
    before, changes = everything(store), store._connection.total_changes

    applied = store.apply(
        Batch(updates=tuple(update_of(path, text, STAMP) for path, text in SHOP.items()))
    )
    gone = store.apply(Batch(gone=("never/there.py",), updates=()))

    assert applied.changed == gone.changed == ()
    assert store._connection.total_changes == changes
    assert everything(store) == before
    assert store.files()["shop/tax.py"].stamp == STAMP, "known, but in memory only"


def test_stamps_that_were_only_in_memory_are_written_with_the_next_change(
    store: HubStore, db: Path
) -> None:
    put(store, SHOP)
    store.seen("shop/tax.py", STAMP)
    view = open_snapshot(db)
    assert view is not None
    assert view.files()["shop/tax.py"].stamp is None

    put(store, {"new.py": "x = 1\n"})

    assert view.files()["shop/tax.py"].stamp == STAMP
    view.close()


@pytest.mark.parametrize(
    "stamp", [Stamp(2**63, -5, 2**64 - 1, 2**64 - 1), Stamp(0, -(2**62), 0, 0), STAMP]
)
def test_odd_stamps_are_stored_and_never_taken_for_others(
    store: HubStore, db: Path, stamp: Stamp
) -> None:
    store.apply(Batch(updates=(update_of("a.py", "x = 1\n", stamp),)))

    view = open_snapshot(db)

    assert view is not None
    read = view.files()["a.py"].stamp
    assert read == stamp or max(stamp) >= 2**63
    view.close()


def test_files_are_reported_by_their_raw_paths(store: HubStore) -> None:
    raw = "caf\udce9%.py"
    store.apply(Batch(updates=(update_of(raw, "x = 1\n"),)))

    assert list(store.files()) == [raw]
    assert list(store.view().files()) == [raw]
    assert list(store.view().paths()) == ["caf%E9%25.py"]


def test_a_path_with_a_colon_keeps_its_nodes_apart(store: HubStore) -> None:
    put(store, {"a.py": "def f(): ...\n", "a.py:b.py": "def g(): ...\n"})

    assert [n.facts.qualname for n in store.view().nodes("a.py")] == ["__module__", "f"]

    put(store, {"a.py": None})

    assert list(store.view().keys()) == ["node:a.py:b.py:__module__", "node:a.py:b.py:g"]


_ONE, _TWO, _THREE = (f"def {name}():\n    return {name!r}\n" for name in ("one", "two", "three"))


@pytest.mark.parametrize(
    "now",
    [
        _ONE + _TWO + _THREE,
        _ONE + _THREE + _TWO,
        _THREE + _ONE + _TWO,
        _ONE,
        _TWO,
        _TWO + _ONE,
        _ONE + _ONE,
        _ONE.replace("return", "return  ") + _TWO,
        "# one\n# was here\n" + _TWO,
        _ONE + "\n" + _TWO,
        _ONE + _TWO + "# the end\n",
        _ONE + _TWO + "def (\n",
    ],
)
def test_rows_after_an_edit_are_those_of_a_store_that_never_knew_the_file_before(
    store: HubStore, tmp_path: Path, now: str
) -> None:
    other = {"a.py:b.py": _ONE}
    put(store, {"a.py": _ONE + _TWO, **other})
    put(store, {"a.py": now})
    with HubStore(tmp_path / "new.db", root=Path("/project"), clock=ticking()) as new:
        put(new, {"a.py": now, **other})
        assert _rows(store) == _rows(new)


def _rows(store: HubStore) -> list[tuple[object, ...]]:
    """Of all nodes, but for what only their history tells."""
    with closing(sqlite3.connect(store._db)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM node_state ORDER BY key").fetchall()
    history = {"id", "last_updated", "update_source"}
    return [tuple(row[name] for name in row.keys() if name not in history) for row in rows]  # noqa: SIM118


def test_changed_since_shows_all_that_changed_as_far_as_it_is_known(store: HubStore) -> None:
    beginning = store.generation
    put(store, SHOP)
    between = store.generation
    put(store, {"shop/tax.py": SHOP["shop/tax.py"].replace("2", "3")})

    assert store.changed_since(store.generation) == ((), True)
    assert store.changed_since(between) == (
        ("node:shop/tax.py:__module__", "node:shop/tax.py:add"),
        True,
    )
    assert len(store.changed_since(beginning)[0]) == 7
    assert store.changed_since(beginning - 1) == ((), False)
    assert store.changed_since(store.generation + 1) == ((), False)


def test_the_log_of_changes_has_a_bound(store: HubStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remora.hub.store.batch_writer.LOGGED", 40)
    generations = []
    for number in range(64):
        generations.append(store.generation)
        put(store, {"a.py": f"def f():\n    return {number}\n"})
    with closing(sqlite3.connect(store._db)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM changes").fetchone()
    assert count <= 40 + 2 * 16
    assert store.changed_since(generations[0]) == ((), False)
    assert store.changed_since(generations[-2])[1]

    monkeypatch.setattr("remora.hub.store.batch_writer.LOGGED_AT_ONCE", 3)
    put(store, {"b.py": "def f(): ...\ndef g(): ...\ndef h(): ...\n"})
    assert store.changed_since(generations[-1]) == ((), False)
    assert store.changed_since(store.generation) == ((), True)


def test_a_second_writer_is_reported_who_has_the_database(store: HubStore, db: Path) -> None:
    with pytest.raises(HubLocked, match=str(os.getpid())):
        HubStore(db, root=Path("/project"), clock=ticking())


def test_only_its_user_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        db = tmp_path / "new" / "folder" / "hub.db"
        with HubStore(db, root=Path("/project"), clock=ticking()) as store:
            put(store, SHOP)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in db.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"hub.db", "hub.db-wal", "hub.db-shm", "hub.db.lock"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(db.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["hub.db", "hub.db-wal", "hub.db-shm", "hub.db.lock"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / name).symlink_to(precious)

    with pytest.raises(DiskError, match=r"hub\.db"):
        HubStore(tmp_path / "hub.db", root=Path("/project"), clock=ticking())

    assert precious.read_text() == "precious"
    assert name.endswith(".lock") or open_snapshot(tmp_path / "hub.db") is None


def test_a_database_of_another_root_is_not_believed(db: Path) -> None:
    with HubStore(db, root=Path("/project"), clock=ticking()) as store:
        put(store, SHOP)
        generation = store.generation
    with HubStore(db, root=Path("/elsewhere"), clock=ticking()) as store:
        assert store.counts() == (0, 0)
        assert store.generation > generation


CODE = {
    "a.py": "def f():\n    return 1\n",
    "b.py": "import a\ndef g(h):\n    return h()\n",
    "t.py": "import b\ndef test_f():\n    assert b.g(1)\n",
}
A, B, T = "node:a.py:f", "node:b.py:g", "node:t.py:test_f"


def test_a_file_with_a_syntax_error_is_reported(store: HubStore) -> None:
    put(store, {"a.py": "def f(:\n", "b.py": "x = 1\n"})

    ((path, detail),) = store.view().partial().items()

    assert path == "a.py"
    assert detail


def test_a_form_that_is_read_while_it_changes_is_not_taken_for_the_one_before(
    store: HubStore, db: Path
) -> None:
    before = {"a.py": "def f(): ...\n"}
    put(store, before)
    changes = iter([{"a.py": "def g(): ...\n"}])

    def overtaken(statement: str) -> None:
        if "file_facts" in statement:
            for files in changes:
                put(store, files)

    with closing(sqlite3.connect(db)) as connection:
        connection.set_trace_callback(overtaken)
        view = StoredSnapshot(connection, db, SharedState([]))
        view.lowered("a.py")
        put(store, before)  # as an editor's undo does it
        lowered = view.lowered("a.py")
        assert lowered is not None
        assert [scope.name for scope in lowered.scopes[1:]] == ["f"]
