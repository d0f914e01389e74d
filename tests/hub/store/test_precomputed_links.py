"""Precomputed links equal the linker's after any edits."""

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.callgraph.incremental import invalidated
from remora.code.callgraph.linker import Linker
from remora.code.links import Edge
from remora.errors import DiskError, HubDamaged
from remora.hub.daemon import link_round
from remora.hub.daemon.link_round import begin_round, find_links
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import OverlaidSnapshot, Snapshot
from remora.hub.store.hub_store import HubStore
from remora.hub.store.link_writer import LinkRow, Portion
from remora.hub.store.reader import open_snapshot
from tests.clock import ticking
from tests.hub.precomputed_links import ODD, link, spoil
from tests.hub.small_files import facts_of
from tests.hub.store.conftest import put
from tests.hub.store.edited_programs import PLACES, Edit, Program, edited, edits, programs, text_of

SHOP = {
    "shop/__init__.py": "",
    "shop/orders.py": "from shop import tax\n\ndef total(x):\n    return tax.add(x)\n",
    "shop/tax.py": "def add(x):\n    return x * 2\n",
    "shop/till.py": "from shop.orders import total\n\ndef pay():\n    return total(1) + total(2)\n",
}
ADD, TOTAL = "node:shop/tax.py:add", "node:shop/orders.py:total"

Links = dict[tuple[str, str], tuple[Edge, ...]]


ASKED = ("callers", "callees", "importers", "uses")


def cold(view: Snapshot) -> Links:
    """What a new linker says of every node."""
    linker = Linker(view)
    return {(key, n): getattr(linker, n)(key) for key in sorted(view.keys()) for n in ASKED}


def stored(view: Snapshot) -> Links:
    """What stands in the store of every node."""
    links = view.links()
    assert links is not None
    found: Links = {}
    for key in sorted(view.keys()):
        for name in ASKED:
            edges = links.stored(name, key)
            assert edges is not None, "not all links are stored"
            found[key, name] = edges
    return found


def known(store: HubStore) -> bool:
    """Whether links are told from the store."""
    return store.view().links().stored("callers", ADD) is not None


def test_stored_links_equal_the_linkers_until_an_edit_changes_them(store: HubStore) -> None:
    put(store, SHOP)
    assert not known(store)

    link(store)

    assert stored(store.view()) == cold(store.view())
    assert [edge.key for edge in stored(store.view())[ADD, "callers"]] == [TOTAL]
    link(store)
    generation = store.generation
    put(store, {"shop/till.py": SHOP["shop/till.py"] + "# said at the end\n"})
    assert store.generation == generation + 1
    assert known(store)
    link(store)
    put(store, {"shop/till.py": "def pay():\n    return 1\n"})
    assert not known(store)
    link(store)
    assert stored(store.view()) == cold(store.view())
    assert stored(store.view())[TOTAL, "callers"] == ()
    link(store)
    put(store, {"shop/till.py": None, "shop/orders.py": None})
    link(store)
    count = "SELECT count(*) FROM linked JOIN link_ends ON source_key = key JOIN dependencies ON source = id"
    keys = "SELECT source_key FROM linked ORDER BY source_key"
    assert store._connection.execute(count).fetchone() == (0,)
    assert [key for (key,) in store._connection.execute(keys)] == sorted(store.view().keys())


def test_answers_come_from_there_and_say_the_same(store: HubStore, db: Path) -> None:
    put(store, SHOP)
    before = {key: NodeQueries(store.view()).node(key) for key in sorted(store.view().keys())}
    link(store)
    store._connection.execute(
        "UPDATE dependencies SET lines = '[77]' WHERE target = (SELECT id FROM link_ends WHERE key = ?)",
        (ADD,),
    )

    view = open_snapshot(db)

    assert view is not None
    for each in (store.view(), view):
        answers = NodeQueries(each)
        assert answers.callers(ADD)["callers"][0]["lines"] == [77]
        assert answers.node(TOTAL).callees[0].lines == (77,)  # type: ignore[index]
        for key, node in before.items():
            if key not in (ADD, TOTAL):
                assert answers.node(key) == node
    view.close()


def test_a_full_disk_costs_a_portion_and_nothing_that_was_found_before(store: HubStore) -> None:
    put(store, SHOP)
    about = begin_round(store._db)
    links, base = store.links(), about.beginning.base
    assert links.begin(about.beginning)
    portions = list(find_links(about))
    assert links.put(base, portions[0])
    row = LinkRow(ADD, b"x" * 1_000_000, (), imports=())
    store._connection.execute("PRAGMA max_page_count = 1")

    with pytest.raises(DiskError, match="full"):
        links.put(base, Portion((*portions[1].links, row), ()))

    store._connection.execute("PRAGMA max_page_count = 1000000")
    link(store)
    assert stored(store.view()) == cold(store.view())


MANY_BINDINGS = "def slow(a):\n" + "    if a:\n        x = a.b\n    x()\n" * 1500


def test_a_file_that_takes_too_long_does_not_delay_the_others(
    store: HubStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_round, "PART_S", 0.1)
    put(store, {**SHOP, "a.py": MANY_BINDINGS})
    began = time.process_time()
    portions = list(find_links(begin_round(store._db)))
    assert time.process_time() - began < 5
    failed = [(each.key, each.why) for portion in portions for each in portion.failed]
    why = "the file takes longer than 0.1 s"
    assert failed == [("node:a.py:__module__", why), ("node:a.py:slow", why)]
    assert ADD in {row.key for portion in portions for row in portion.links}


def test_each_node_of_a_file_that_takes_too_long_is_reported_once(
    store: HubStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link_row(linker: Linker, key: str) -> LinkRow:
        if key.endswith("odd"):
            raise IndexError
        if key.endswith("slow"):
            raise OutOfTimeError
        return linked(linker, key)

    linked = link_round._link_row
    monkeypatch.setattr(link_round, "_link_row", link_row)
    put(store, {"a.py": "def easy(): ...\ndef odd(): ...\ndef slow(): ...\n"})
    portions = list(find_links(begin_round(store._db)))
    failed = [each.key for portion in portions for each in portion.failed]
    assert failed == ["node:a.py:odd", "node:a.py:slow"]


def test_the_time_of_other_programs_is_not_that_of_a_file(
    store: HubStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_round, "PART_S", 0.2)
    put(store, {"odd.py": ODD})
    spoil(store._connection, "odd.py")
    reasons = []
    for portion in find_links(begin_round(store._db)):
        reasons += [each.why for each in portion.failed]
        time.sleep(0.3)
    assert all("IndexError" in why for why in reasons), reasons


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE linked SET reads = x'00'",
        "UPDATE carried SET reads = x'00'",
        "UPDATE unlinked SET before = x'00'",
    ],
)
def test_rows_that_make_no_sense_are_reported(store: HubStore, sql: str) -> None:
    put(store, {**SHOP, "more.py": "def over(call):\n    return call(1)\n"})
    link(store)
    put(store, {"more.py": "def over(call):\n    return call(2) + len('x')\n"})
    store._connection.execute("INSERT OR IGNORE INTO carried VALUES ('node:a.py:f', x'00', x'00')")
    store._connection.execute(sql)

    with pytest.raises(HubDamaged):
        begin_round(store._db)


def test_a_link_that_makes_no_sense_is_reported(store: HubStore) -> None:
    put(store, SHOP)
    link(store)
    for column in ("lines", "tier"):
        store._connection.execute(f"UPDATE dependencies SET {column} = 'x'")
        with pytest.raises(HubDamaged):
            store.view().links().stored("callers", ADD)


def test_only_what_an_edit_touches_is_recomputed(store: HubStore) -> None:
    far = {f"far{number}.py": f"def f{number}():\n    return 1\n" for number in range(30)}
    put(store, {**SHOP, **far})
    assert link(store) == 67

    put(store, {"far3.py": "def f3():\n    return 2 + len('x')\n"})

    assert link(store) == 2
    assert stored(store.view()) == cold(store.view())


def test_a_view_with_files_that_changed_has_no_links(store: HubStore) -> None:
    put(store, SHOP)
    link(store)
    now = {"shop/till.py": facts_of("shop/till.py", "def pay():\n    return 1\n")}

    assert OverlaidSnapshot(store.view(), {}).links() is not None
    assert OverlaidSnapshot(store.view(), now).links() is None
    assert NodeQueries(OverlaidSnapshot(store.view(), now)).callers(TOTAL)["callers"] == []


def test_a_round_that_is_left_in_the_middle_loses_nothing(store: HubStore) -> None:
    put(store, SHOP)
    about = begin_round(store._db)
    links = store.links()
    assert links.begin(about.beginning)
    rows = list(find_links(about))
    links.put(about.beginning.base, rows[0])
    assert not links.end(about.beginning.base)
    assert not known(store)

    put(store, {"shop/tax.py": "def add(x):\n    return 3\n\ndef sub():\n    return add(1)\n"})
    assert links.put(
        about.beginning.base, rows[1]
    )  # found of a state that is over, and right for it
    assert not links.end(about.beginning.base)
    assert not known(store)

    link(store)
    assert stored(store.view()) == cold(store.view())


def test_the_databases_log_does_not_wait_while_it_is_found_out_what_an_edit_touches(
    store: HubStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, SHOP)
    link(store)
    put(store, {"shop/tax.py": "def sub(x):\n    return 3\n"})
    busy = []

    def watched(*asked: Any) -> Any:
        put(store, {"shop/till.py": ""})
        busy.append(store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        return invalidated(*asked)

    monkeypatch.setattr("remora.hub.daemon.link_round.invalidated", watched)
    begin_round(store._db).program.close()

    assert busy == [0]


def test_a_node_that_cannot_be_linked_is_reported_and_costs_no_other_its_links(
    store: HubStore,
) -> None:
    put(store, {**SHOP, "shop/odd.py": ODD, "shop/tests.py": "from shop import till\ntill.pay()\n"})
    spoil(store._connection, "shop/odd.py")
    about = begin_round(store._db)
    assert store.links().begin(about.beginning)
    portions = list(find_links(about))
    for portion in portions:
        assert store.links().put(about.beginning.base, portion)

    failed = {each.key: each.why for portion in portions for each in portion.failed}
    assert "IndexError" in failed["node:shop/odd.py:odd"]
    assert all(key.startswith("node:shop/odd.py:") for key in failed)
    rows = store._connection.execute("SELECT source_key FROM linked")
    assert {key for (key,) in rows} == set(store.view().keys()) - failed.keys()
    assert not store.links().end(about.beginning.base)
    assert not known(store)

    put(store, {"shop/odd.py": "def odd(x):\n    return x\n"})
    assert link(store) <= 2  # those of all others were kept
    assert stored(store.view()) == cold(store.view())


def test_a_round_does_not_begin_where_something_changed_since_it_looked(store: HubStore) -> None:
    put(store, SHOP)
    about = begin_round(store._db)
    put(store, {"shop/tax.py": "def sub(x):\n    return 3\n"})

    assert not store.links().begin(about.beginning)
    assert not store.links().put(about.beginning.base, next(find_links(about)))
    assert not store.links().end(about.beginning.base)


def test_rows_of_a_database_that_was_rebuilt_meanwhile_are_not_taken(store: HubStore) -> None:
    put(store, SHOP)
    about = begin_round(store._db)
    assert store.links().begin(about.beginning)
    rows = list(find_links(about))

    store.rebuild()

    assert not store.links().put(about.beginning.base, rows[0])
    assert not store.links().end(about.beginning.base)
    put(store, SHOP)
    assert not known(store)
    link(store)
    assert stored(store.view()) == cold(store.view())


def test_a_project_whose_links_nobody_finds_ahead_keeps_no_old_forms(store: HubStore) -> None:
    put(store, SHOP)
    put(store, {"shop/tax.py": "def sub(x):\n    return 3\n"})
    count = "SELECT count(*) FROM unlinked"
    assert store._connection.execute(count).fetchone() == (0,)

    link(store)
    put(store, {"shop/tax.py": "def sub(x):\n    return add(3)\n", "shop/till.py": None})
    put(store, {"shop/tax.py": SHOP["shop/tax.py"], "shop/new.py": ""})

    assert store._connection.execute(count).fetchone() == (3,)
    link(store)
    assert store._connection.execute(count).fetchone() == (0,)


scripts = st.lists(st.tuples(edits, st.booleans()), min_size=1, max_size=6)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=100, deadline=None)
@given(programs, scripts)
def test_after_any_edits_they_are_those_of_a_cold_linker(
    program: Program, script: list[tuple[Edit, bool]]
) -> None:
    """Compare after each edit of the script, or after several where it says so."""
    with (
        tempfile.TemporaryDirectory() as folder,
        HubStore(Path(folder) / "hub.db", root=Path("/project"), clock=ticking()) as store,
    ):
        there = set(PLACES)
        put(store, {path: text_of(path, chosen) for path, chosen in program.items()})
        link(store)
        for number, (edit, at_once) in enumerate(script, 1):
            put(store, edited(program, there, edit))
            if at_once or number == len(script):
                link(store)
                assert stored(store.view()) == cold(store.view())
