"""Identity: a node's uid follows its body, whatever happens to its name, its file or its branch."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remora.hub.store.hub_store import HubStore
from tests.hub.store.conftest import all_uids, put, uid_of

TOTAL = "def total(rows):\n    return sum(row.price for row in rows)\n"
TAX = "def tax(amount):\n    return amount * 19 // 100\n"
TINY = "def on(self):\n    pass\n\n\ndef off(self):\n    pass\n"


def renamed(source: str, old: str, new: str) -> str:
    return source.replace(f"def {old}(", f"def {new}(")


def test_every_node_has_a_uid_of_its_own(store: HubStore) -> None:
    put(store, {"a.py": TOTAL + TAX, "b.py": TINY})

    uids = list(all_uids(store).values())
    assert len(set(uids)) == len(uids) == 6


Files = dict[str, str | None]
EDITS: dict[str, tuple[Files, Files, dict[str, str | None]]] = {
    "an edit in place": (
        {"a.py": TOTAL},
        {"a.py": "import os\n" + TOTAL.replace("price", "cost")},
        {"a.py:total": "a.py:total"},
    ),
    "a rename in a file": (
        {"a.py": TOTAL + TAX},
        {"a.py": renamed(TOTAL, "total", "grand_total") + TAX},
        {"a.py:grand_total": "a.py:total", "a.py:tax": "a.py:tax"},
    ),
    "a renamed class": (
        {"a.py": "class A:\n    def f(self):\n        return self.x + 1\n"},
        {"a.py": "class B:\n    def f(self):\n        return self.x + 1\n"},
        {"a.py:B": "a.py:A", "a.py:B.f": "a.py:A.f"},
    ),
    "a file that is renamed and edited": (
        {"old.py": TOTAL + TAX},
        {"old.py": None, "new.py": TOTAL + TAX.replace("19", "21")},
        {f"new.py:{name}": f"old.py:{name}" for name in ("__module__", "total", "tax")},
    ),
    "bodies that several nodes have, under other names": (
        {"a.py": TINY},
        {"a.py": TINY.replace("on(", "start(").replace("off(", "stop(")},
        {"a.py:start": None, "a.py:stop": None},
    ),
    "a body that lives on elsewhere, under another name": (
        {"a.py": "def on():\n    pass\n", "b.py": "def other():\n    pass\n"},
        {"a.py": "def new():\n    pass\n"},
        {"a.py:new": None},
    ),
    "a copy": ({"a.py": TOTAL}, {"b.py": TOTAL}, {"a.py:total": "a.py:total", "b.py:total": None}),
    "a node that leaves a wrapper behind": (
        {"a.py": TOTAL},
        {"a.py": "import b\ndef total(rows):\n    return b.total(rows)\n", "b.py": TOTAL},
        {"b.py:total": "a.py:total", "a.py:total": None},
    ),
    "bodies that are exchanged": (
        {"a.py": "def f():\n    return 1\ndef g():\n    return 2\n"},
        {"a.py": "def f():\n    return 2\ndef g():\n    return 1\n"},
        {"a.py:f": "a.py:f", "a.py:g": "a.py:g"},
    ),
}


@pytest.mark.parametrize(("before", "after", "same"), EDITS.values(), ids=EDITS)
def test_a_uid_follows_its_body(
    store: HubStore, before: Files, after: Files, same: dict[str, str | None]
) -> None:
    put(store, before)
    known = {uid: key.removeprefix("node:") for key, uid in all_uids(store).items()}

    put(store, after)

    assert {key: known.get(uid_of(store, key)) for key in same} == same


@pytest.mark.parametrize(
    "steps",
    [
        [{"a.py": TAX, "b.py": TOTAL}],
        [{"a.py": TAX}, {"b.py": TOTAL}],  # gone first
        [{"b.py": TOTAL}, {"a.py": TAX}],  # there first
    ],
    ids=["at once", "gone first", "there first"],
)
def test_a_move_to_another_file_keeps_the_uid(
    store: HubStore, steps: list[dict[str, str | None]]
) -> None:
    put(store, {"a.py": TOTAL + TAX})
    uid, other = uid_of(store, "a.py:total"), uid_of(store, "a.py:tax")

    for step in steps:
        put(store, step)

    assert uid_of(store, "b.py:total") == uid
    assert uid_of(store, "a.py:tax") == other


@pytest.mark.parametrize("order", ["at once", "gone first", "there first"])
def test_a_renamed_folder_keeps_all_uids_also_of_bodies_that_are_alike(
    store: HubStore, order: str
) -> None:
    files = {"__init__.py": "", "one.py": TINY + TOTAL, "two.py": TINY, "sub/__init__.py": ""}
    put(store, {f"old/{name}": text for name, text in files.items()})
    before = all_uids(store)

    there: dict[str, str | None] = {f"new/{name}": text for name, text in files.items()}
    gone: dict[str, str | None] = {f"old/{name}": None for name in files}
    steps = {"at once": [there | gone], "gone first": [gone, there], "there first": [there, gone]}
    for step in steps[order]:
        put(store, step)

    after = all_uids(store)
    assert after == {key.replace("node:old/", "node:new/"): uid for key, uid in before.items()}


def test_a_branch_switch_there_and_back_keeps_all_uids(store: HubStore) -> None:
    put(store, {"a.py": TOTAL, "b.py": TAX + TINY})
    before = all_uids(store)

    put(store, {"a.py": TOTAL.replace("price", "cost"), "b.py": None, "c.py": "x = 1\n"})
    put(store, {"a.py": TOTAL, "b.py": TAX + TINY, "c.py": None})

    assert all_uids(store) == before


@pytest.fixture
def at() -> list[datetime]:
    return [datetime(2026, 1, 1, tzinfo=UTC)]


@pytest.fixture
def clock(at: list[datetime]) -> Callable[[], datetime]:
    return lambda: at[0]


@pytest.mark.parametrize(("days", "same"), [(29, True), (31, False)])
def test_a_vanished_node_is_remembered_for_thirty_days_and_over_a_restart(
    db: Path, at: list[datetime], clock: Callable[[], datetime], days: int, same: bool
) -> None:
    with HubStore(db, root=Path("/project"), clock=clock) as store:
        put(store, {"a.py": TOTAL, "b.py": TAX})
        uid = uid_of(store, "a.py:total")
        put(store, {"a.py": None})
        at[0] += timedelta(days=days)
        store.forget_expired()
    with HubStore(db, root=Path("/project"), clock=clock) as store:
        put(store, {"c.py": TOTAL})
        assert (uid_of(store, "c.py:total") == uid) is same


def test_a_birth_of_another_name_is_not_a_move(store: HubStore) -> None:
    put(store, {"a.py": TOTAL})
    put(store, {"b.py": renamed(TOTAL, "total", "other")})
    uid = uid_of(store, "b.py:other")

    put(store, {"a.py": renamed(TOTAL, "total", "third")})

    assert uid_of(store, "b.py:other") == uid


def test_a_birth_is_remembered_for_a_minute_only(
    db: Path, at: list[datetime], clock: Callable[[], datetime]
) -> None:
    with HubStore(db, root=Path("/project"), clock=clock) as store:
        put(store, {"a.py": TOTAL})
        uid = uid_of(store, "a.py:total")
        put(store, {"b.py": TOTAL})
        at[0] += timedelta(minutes=2)
        put(store, {"a.py": None})
        assert uid_of(store, "b.py:total") != uid


def test_a_cold_start_reports_no_moves(store: HubStore) -> None:
    put(store, {"a.py": TOTAL, "b.py": TOTAL}, source="cold_start")
    uid = uid_of(store, "b.py:total")

    put(store, {"a.py": None})

    assert uid_of(store, "b.py:total") == uid
