"""What was stored step by step is what one cold look at the files gives."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import open_snapshot
from tests.hub.index_check import verify
from tests.hub.precomputed_links import link
from tests.hub.watch.edits import Edits

LINES = (
    "import {m}\n",
    "from {m} import {f}\n",
    "from {m} import *\n",
    "from . import {m} as other\n",
    "def {f}(x):\n    return {g}(x) + {m}.{f}(x)\n",
    "def test_{f}():\n    assert {g}(1) == {n}\n",
    "async def {g}(x: int) -> int:\n    '''Say {n}.'''\n    return await {f}({m})\n",
    "class {c}({d}):\n    def {f}(self):\n        return self.{g}()\n\n    def {g}(self):\n        pass\n",
    "if {f}:\n    def {g}(): ...\nelse:\n    def {g}(): return {n}\n",
    "{f} = {g}\n",
    "@{f}\ndef {g}(): return [{f}(x) for x in {m}.{c}()]\n",
    "def {f}(:\n",
    "\n",
)


class Editor(Edits):
    """The watchers' edits, of modules that use each other."""

    def _text(self) -> str:
        pick = self.chance.choice
        return "".join(
            pick(LINES).format(
                m=pick("abcde"),
                f=pick(["run", "load", "save"]),
                g=pick(["run", "load", "make"]),
                c=pick(["Shop", "Cart"]),
                d=pick(["object", "Shop", "Cart"]),
                n=self.chance.randrange(3),
            )
            for _ in range(self.chance.randrange(6))
        )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        for name in ("root", "outside"):
            (Path(place) / name).mkdir()
        yield Path(place)


def now() -> datetime:
    return datetime.now(UTC)


def script(seed: int) -> None:
    """Some edits, with the index brought up to date after each few, and compared."""
    chance = random.Random(-seed)
    with folder() as place:
        root, db = place / "root", place / "cache" / "hub.db"
        editor = Editor(root, place / "outside", random.Random(seed), with_git=False)
        store = HubStore(db, root=root, clock=now)
        members = Members(root)
        try:
            for _ in range(chance.randrange(3, 9)):
                for _ in range(chance.randrange(1, 8)):
                    editor.make()
                if chance.random() < 0.1:  # the daemon ends, and another begins
                    store.close()
                    store = HubStore(db, root=root, clock=now)
                    members = Members(root)
                indexer = Indexer(root, store, members)
                look = indexer.look()
                indexer.refresh((*look.changed, *look.gone), source="file_change")
                if chance.random() < 0.4:
                    link(store)
            link(store)
            assert_same(root, db, store, seed)
        finally:
            store.close()


def assert_same(root: Path, db: Path, store: HubStore, seed: int) -> None:
    view = open_snapshot(db)
    assert view is not None
    for each in (store.view(), view):
        verified = verify(root, Members(root), each)
        assert verified.differences == (), f"script {seed}"
        assert verified.ok
    view.close()


@pytest.mark.parametrize("seed", range(8))
def test_after_a_random_edit_script_the_stored_state_is_the_cold_one(seed: int) -> None:
    script(seed)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_after_a_thousand_random_edit_scripts_the_stored_state_is_the_cold_one(first: int) -> None:
    for seed in range(first, first + 100):
        script(seed)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Path, HubStore]]:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def f():\n    return 1\n")
    (root / "b.py").write_text("import a\n\ndef g():\n    return a.f()\n")
    with HubStore(tmp_path / "cache" / "hub.db", root=root, clock=now) as store:
        Indexer(root, store, Members(root)).refresh(["a.py", "b.py"], source="cold_start")
        yield root, store


def test_a_correct_index_has_no_differences(small: tuple[Path, HubStore]) -> None:
    root, store = small
    link(store)
    assert verify(root, Members(root), store.view()) == (True, 4, ())


WRONG = [
    ("UPDATE node_state SET complexity = 9 WHERE node_name = 'f'", "a.py:f", "complexity"),
    ("UPDATE node_state SET line_start = 9 WHERE node_name = 'g'", "b.py:g", "line_start"),
    ("UPDATE node_state SET partial = 1 WHERE node_name = 'g'", "b.py:g", "partial"),
    ("DELETE FROM node_state WHERE node_name = 'f'", "a.py:f", "key"),
    ("DELETE FROM mentions WHERE name = 'f'", "b.py:__module__", "mentions"),
    ("INSERT INTO mentions VALUES ('g', 1)", "a.py:__module__", "mentions"),
    ("DELETE FROM file_facts WHERE file = 2", "b.py:__module__", "lowered"),
    ("UPDATE dependencies SET tier = 'unique'", "a.py:f", "callers"),
    ("UPDATE dependencies SET lines = '[1]'", "b.py:g", "callees"),
    ("DELETE FROM dependencies WHERE kind = 'call'", "a.py:f", "callers"),
    ("DELETE FROM dependencies WHERE kind = 'import'", "a.py:__module__", "importers"),
]


@pytest.mark.parametrize(("sql", "key", "field"), WRONG)
def test_each_fact_or_link_that_is_stored_wrong_is_reported(
    small: tuple[Path, HubStore], sql: str, key: str, field: str
) -> None:
    root, store = small
    link(store)
    store._connection.execute(sql)
    verified = verify(root, Members(root), store.view())
    assert not verified.ok
    assert (f"node:{key}", field) in {(each.key, each.field) for each in verified.differences}
