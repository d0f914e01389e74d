"""Questions about the files as they are now, beside what is stored of them."""

import os
import time
from pathlib import Path

from remora.config.user_folders import UserFolders
from remora.hub.file_limits import FileRules
from remora.hub.file_stamp import stamp_of
from remora.hub.node import ObservedValues
from remora.hub.observed_links import Observation, ObservedFunction, ObservedTest, anchor_of
from remora.hub.process.hub_paths import hub_paths
from remora.hub.sources.current_nodes import CurrentNodes, reached_from_tests
from remora.hub.store.batch import Batch
from remora.hub.store.hub_store import HubStore
from tests.clock import ticking
from tests.hub.client.conftest import CART, TOTAL, House, ask
from tests.hub.precomputed_links import link
from tests.hub.store.conftest import update_of

TEST = "node:tests/test_price.py:test_total"
BEFORE, NOW = "def f(): ...\n", "def g(): ...\n"


def test_a_change_within_one_tick_of_the_file_systems_clock_is_seen(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    folders = UserFolders(tmp_path, tmp_path, tmp_path, tmp_path)
    places = hub_paths(folders, root, db=tmp_path / "db" / "hub.db")
    (root / "a.py").write_text(NOW)
    ahead = time.time_ns() + 3600 * 10**9  # as young as can be, however slow this machine is
    os.utime(root / "a.py", ns=(ahead, ahead))
    stamp = stamp_of(os.lstat(root / "a.py"))
    with HubStore.open(places.db, root=root, clock=ticking()) as store:
        store.apply(Batch(updates=(update_of("a.py", BEFORE, stamp),), source="cold_start"))
    newest = CurrentNodes(places.root, places.db, FileRules())
    assert newest.at_line(["a.py"], 1) == "node:a.py:g"


def test_what_was_observed_is_read_for_many_functions_at_once(house: House) -> None:
    house.index()
    with HubStore.open(house.places.db, root=house.root, clock=ticking()) as store:
        total, test = (store.view().node(key) for key in (TOTAL, TEST))
        assert total is not None
        assert test is not None
        values = ObservedValues(returns=("int",))
        function = ObservedFunction(node=TOTAL, anchor=anchor_of(total.facts), values=values)
        entered = ObservedTest(node=TOTAL, id="t", test=TEST, anchor=anchor_of(test.facts))
        store.record_observed(
            Observation(calls=(), tests=(entered,), ran=("t",), functions=(function,))
        )
    client = house.client()
    current = CurrentNodes(house.places.root, house.places.db, FileRules())
    assert current.observed([TOTAL, CART]) == {TOTAL: values}
    assert ask(client, [TOTAL])[TOTAL].observed == values
    house.write({"shop/price.py": "def total(prices):\n    return 0\n"})
    assert current.observed([TOTAL]) == {}
    assert ask(client, [TOTAL])[TOTAL].observed is None


def test_a_node_is_reached_if_tests_call_it_or_its_callers(house: House) -> None:
    house.index()
    current = CurrentNodes(house.places.root, house.places.db, FileRules())
    facts = current.project_facts()
    assert facts is not None
    assert {TOTAL, CART} <= {node.key for node in facts.nodes}
    assert facts.reached is None, "links are stored later, and are not computed here"

    with HubStore.open(house.places.db, root=house.root, clock=ticking()) as store:
        link(store)
    facts = current.project_facts()
    assert facts is not None
    assert facts.reached is not None
    assert TOTAL in facts.reached
    assert CART not in facts.reached

    house.write({"shop/price.py": "def total(prices):\n    return 0\n"})
    facts = current.project_facts()
    assert facts is not None
    assert facts.reached is None, "links of earlier files prove nothing"


def test_without_an_index_there_are_no_facts(tmp_path: Path) -> None:
    assert CurrentNodes(tmp_path, tmp_path / "hub.db", FileRules()).project_facts() is None


def test_tests_reach_up_to_ten_calls_away() -> None:
    chain = [("node:tests/test_a.py:test", "node:a.py:f0")]
    chain += [(f"node:a.py:f{n}", f"node:a.py:f{n + 1}") for n in range(20)]
    reached = reached_from_tests([*chain, ("node:b.py:f", "node:b.py:g")])
    assert "node:a.py:f9" in reached
    assert "node:a.py:f10" not in reached
    assert "node:b.py:g" not in reached
