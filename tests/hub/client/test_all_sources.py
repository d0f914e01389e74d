"""Behaviour that all Hub sources share."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest

from remora.errors import NotFound
from remora.hub.client import HubClient
from remora.hub.node import AnsweredNode
from tests.hub.client.conftest import (
    CART,
    FILES,
    GENEROUS,
    KEYS,
    RUNGS,
    TOTAL,
    House,
    ask,
    housed,
    run,
)

ODD_NAMES = {
    b"a b.py": "a b.py",
    b"50%.py": "50%25.py",
    b"c:d.py": "c:d.py",
    b"new\nline.py": "new\nline.py",
    "é.py".encode(): "é.py",
    b"\xff.py": "%FF.py",
    b"-x.py": "-x.py",
}
"""File names, and how keys spell them."""
UNKNOWN_TO_FILES = ("callers", "references", "callees", "related_tests", "last_updated")


@pytest.fixture(scope="module", params=RUNGS)
def standing(request: pytest.FixtureRequest) -> Iterator[tuple[House, str]]:
    """A house in which nothing changes any more, on each rung."""
    with housed() as house:
        house.write(FILES)
        house.write({"other.txt": "def f(): pass\n", ".env.py": "def f(): pass\n"})
        house.write({".venv/pyvenv.cfg": "", ".venv/lib.py": "def f(): pass\n"})
        house.write({"broken.py": "def kept(a):\n    return 1\n\n\ndef broken(:\n"})
        house.write({os.fsdecode(name): "def f(): pass\n" for name in ODD_NAMES})
        outside = house.folder / "outside.py"
        outside.write_text("def f(): pass\n")
        (house.root / "link.py").symlink_to(outside)
        (house.root / "linked").symlink_to(house.folder)
        yield house.raised_to(request.param), request.param


@pytest.fixture
def higher(standing: tuple[House, str]) -> Iterator[HubClient]:
    """A client of that house, which stands on the fixture's rung."""
    with closing(
        HubClient(standing[0].root, places=standing[0].places, deadline=GENEROUS)
    ) as found:
        yield found


@pytest.fixture
def rung_of(standing: tuple[House, str]) -> str:
    """The rung on which it stands."""
    return standing[1]


def own(node: AnsweredNode) -> dict[str, Any]:
    """What its file says of a node."""
    told: dict[str, Any] = msgspec.to_builtins(node)
    return {
        name: value
        for name, value in told.items()
        if name not in (*UNKNOWN_TO_FILES, "update_source")
    }


def test_the_same_facts_from_every_rung(
    standing: tuple[House, str], higher: HubClient, rung_of: str
) -> None:
    nowhere = standing[0].folder / "nowhere"
    lowest = HubClient(standing[0].root, socket_path=nowhere, db=nowhere, deadline=GENEROUS)
    with closing(lowest):
        below = ask(lowest, [*KEYS])
    assert below.source == "file"
    found = ask(higher, [*KEYS])
    assert found.source == rung_of
    assert list(found) == [*KEYS]
    assert {key: own(node) for key, node in found.items()} == {
        key: own(node) for key, node in below.items()
    }
    total = found[TOTAL]
    assert (total.signature, total.complexity) == ("def total(prices)", 2)
    assert (total.docstring_outdated, total.has_type_hints, total.fresh) == (True, False, True)


def test_values_that_a_source_cannot_know_are_null(higher: HubClient, rung_of: str) -> None:
    found = ask(higher, [TOTAL, CART])
    total, cart = found[TOTAL], found[CART]
    if rung_of == "file":
        assert [getattr(total, name) for name in UNKNOWN_TO_FILES] == [None] * 5
        assert found.generation is None
        return
    assert [edge.key for edge in total.callers or ()] == [
        CART, "node:tests/test_price.py:test_total",
    ]  # fmt: skip
    assert [edge.key for edge in cart.callees or ()] == [TOTAL]
    assert [test.id for test in total.related_tests or ()] == ["tests/test_price.py::test_total"]
    assert total.last_updated
    assert total.last_updated
    assert found.generation


@pytest.mark.parametrize("kind", ["callers", "callees", "tests"])
def test_links_of_one_node(higher: HubClient, rung_of: str, kind: str) -> None:
    key = CART if kind == "callees" else TOTAL
    told = run(getattr(higher, kind)(key, depth=2))
    assert told is not None
    assert set(told) - {"references"} == {"node", kind, "fresh", "generation"}
    assert (told["node"], told["fresh"]) == (key, told[kind] is not None)
    assert (told[kind] is None) == (rung_of == "file")
    assert told[kind] != []


def test_nodes_are_found_by_key_and_by_words(higher: HubClient, rung_of: str) -> None:
    node = run(higher.node(TOTAL))
    assert node is not None
    assert node.signature == "def total(prices)"
    with pytest.raises(NotFound, match="totol"):
        run(higher.node("node:shop/price.py:totol"))
    told = run(higher.search("total"))
    if rung_of == "file":
        assert told is None
    else:
        assert told is not None
        assert [node["key"] for node in told["nodes"]][:1] == [TOTAL]
    found = ask(higher, ["node:broken.py:kept"])["node:broken.py:kept"]
    assert (found.partial, found.signature) == (True, "def kept(a)")


def test_unknown_nodes_are_left_out(standing: tuple[House, str], higher: HubClient) -> None:
    keys = [
        "node:shop/price.py:nothing", "node:shop/gone.py:f", "node:other.txt:f", "node:.env.py:f",
        "node:../outside.py:f", f"node:{standing[0].folder}/outside.py:f", "node:link.py:f",
        "node:linked/outside.py:f", "node:.venv/lib.py:f", "", "node:", "shop/price.py:total",
        "node:\ud800.py:f", "node:shop:f", "node:shop/price.py/x.py:f", "node:a\0b.py:f",
        "node:-r.py:f", "node:\n:f", "node:./shop/price.py:total",
    ]  # fmt: skip
    assert ask(higher, keys) == {}
    assert list(ask(higher, [*keys, TOTAL])) == [TOTAL]


@pytest.mark.parametrize("spelled", ODD_NAMES.values(), ids=repr)
def test_odd_file_names(higher: HubClient, spelled: str) -> None:
    key = f"node:{spelled}:f"
    assert list(ask(higher, [key])) == [key]


@pytest.mark.parametrize("rung", ["sqlite", "file"])
def test_a_new_file_is_seen(house: House, rung: str) -> None:
    client = house.raised_to(rung).client()
    ask(client, [TOTAL])
    house.write({"new/deep/er.py": "from shop.price import total\n\n\ndef f():\n    total([])\n"})
    found = ask(client, ["node:new/deep/er.py:f", TOTAL])
    assert "node:new/deep/er.py:f" in found
    if rung != "file":
        callers = found[TOTAL].callers or ()
        assert "node:new/deep/er.py:f" in [edge.key for edge in callers]


@pytest.mark.parametrize("rung", ["sqlite", "file"])
def test_nothing_is_written(house: House, rung: str) -> None:
    house.raised_to(rung)
    before = snapshot(house)
    house.write({"shop/price.py": "def other(): pass\n"})
    after_edit = snapshot(house)
    assert after_edit != before
    ask(house.client(), [TOTAL, CART])
    assert snapshot(house) == after_edit


def snapshot(house: House) -> dict[str, bytes]:
    """All files of the house but what SQLite shares among its readers."""
    return {
        str(path): path.read_bytes()
        for path in sorted(house.folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }
