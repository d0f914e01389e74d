"""What every rung of the ladder owes to whoever asks."""

import os
from typing import Any

import msgspec
import pytest

from remora.errors import NotFound
from remora.hub.protocol import AnsweredNode
from tests.hub.client.conftest import CART, FILES, KEYS, TOTAL, House, ask, run

UNKNOWN_TO_FILES = ("callers", "callees", "related_tests", "uid", "last_updated")


def own(node: AnsweredNode) -> dict[str, Any]:
    """What its file says of a node."""
    told: dict[str, Any] = msgspec.to_builtins(node)
    return {
        name: value
        for name, value in told.items()
        if name not in (*UNKNOWN_TO_FILES, "update_source")
    }


def test_the_same_facts_from_every_rung(house: House, rung: str) -> None:
    below = ask(house.client(), [*KEYS])
    assert below.rung == "file"
    found = ask(house.raised_to(rung).client(), [*KEYS])
    assert found.rung == rung
    assert list(found) == [*KEYS]
    assert {key: own(node) for key, node in found.items()} == {
        key: own(node) for key, node in below.items()
    }
    total = found[TOTAL]
    assert (total.signature, total.complexity) == ("def total(prices)", 2)
    assert (total.docstring_outdated, total.has_type_hints, total.fresh) == (True, False, True)


def test_what_a_rung_cannot_know_is_null(house: House, rung: str) -> None:
    found = ask(house.raised_to(rung).client(), [TOTAL, CART])
    total, cart = found[TOTAL], found[CART]
    if rung == "file":
        assert [getattr(total, name) for name in UNKNOWN_TO_FILES] == [None] * 5
        assert found.generation is None
        return
    assert [edge.key for edge in total.callers or ()] == [
        CART, "node:tests/test_price.py:test_total",
    ]  # fmt: skip
    assert [edge.key for edge in cart.callees or ()] == [TOTAL]
    assert [test.id for test in total.related_tests or ()] == ["tests/test_price.py::test_total"]
    assert total.uid
    assert total.last_updated
    assert found.generation


@pytest.mark.parametrize("kind", ["callers", "callees", "tests"])
def test_links_of_one_node(house: House, rung: str, kind: str) -> None:
    client = house.raised_to(rung).client()
    key = CART if kind == "callees" else TOTAL
    told = run(getattr(client, kind)(key, depth=2))
    assert told is not None
    assert set(told) == {"node", kind, "fresh", "generation"}
    assert (told["node"], told["fresh"]) == (key, True)
    assert (told[kind] is None) == (rung == "file")
    assert told[kind] != []


def test_one_node_or_why_not(house: House, rung: str) -> None:
    client = house.raised_to(rung).client()
    node = run(client.node(TOTAL))
    assert node is not None
    assert node.signature == "def total(prices)"
    with pytest.raises(NotFound, match="totol"):
        run(client.node("node:shop/price.py:totol"))


def test_a_search_needs_the_whole_project(house: House, rung: str) -> None:
    told = run(house.raised_to(rung).client().search("total"))
    if rung == "file":
        assert told is None
    else:
        assert told is not None
        assert [node["key"] for node in told["nodes"]][:1] == [TOTAL]


def test_unknown_nodes_are_left_out(house: House, rung: str) -> None:
    house.write({"other.txt": "def f(): pass\n", ".env.py": "def f(): pass\n"})
    outside = house.folder / "outside.py"
    outside.write_text("def f(): pass\n")
    (house.root / "link.py").symlink_to(outside)
    (house.root / "linked").symlink_to(house.folder)
    house.write({".venv/pyvenv.cfg": "", ".venv/lib.py": "def f(): pass\n"})
    keys = [
        "node:shop/price.py:nothing", "node:shop/gone.py:f", "node:other.txt:f", "node:.env.py:f",
        "node:../outside.py:f", f"node:{outside}:f", "node:link.py:f", "node:linked/outside.py:f",
        "node:.venv/lib.py:f", "", "node:", "shop/price.py:total", "node:\ud800.py:f",
        "node:shop:f", "node:shop/price.py/x.py:f", "node:a\0b.py:f", "node:-r.py:f", "node:\n:f",
    ]  # fmt: skip
    client = house.raised_to(rung).client()
    assert ask(client, keys) == {}
    assert list(ask(client, [*keys, TOTAL])) == [TOTAL]


ODD_NAMES = [
    b"a b.py",
    b"50%.py",
    b"c:d.py",
    b"new\nline.py",
    "é.py".encode(),
    b"\xff.py",
    b"-x.py",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=repr)
def test_odd_file_names(house: House, rung: str, name: bytes) -> None:
    (house.root / os.fsdecode(name)).write_text("def f(): pass\n")
    spelled = {b"50%.py": "50%25.py", b"\xff.py": "%FF.py"}.get(name, name.decode(errors="replace"))
    key = f"node:{spelled}:f"
    assert list(ask(house.raised_to(rung).client(), [key])) == [key]


def test_a_file_that_does_not_parse_keeps_its_nodes(house: House, rung: str) -> None:
    house.write({"shop/price.py": "def total(prices):\n    return 1\n\n\ndef broken(:\n"})
    found = ask(house.raised_to(rung).client(), [TOTAL])
    assert found[TOTAL].partial
    assert found[TOTAL].signature == "def total(prices)"


def rewrite_unseen(house: House) -> None:
    """Other bytes, same size, same mtime."""
    place = house.root / "shop/price.py"
    before = place.stat()
    place.write_text(FILES["shop/price.py"].replace("total", "tutal"))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_whole(house: House) -> None:
    new = house.root / "shop/.price.py.tmp"
    new.write_text("def tutal(prices: list[int]) -> int:\n    return 1\n")
    new.replace(house.root / "shop/price.py")


def move_away(house: House) -> None:
    (house.root / "shop/price.py").rename(house.root / "shop/prices.py")


def ignore(house: House) -> None:
    house.write({".gitignore": "shop/price.py\n"})


CHANGES = [rewrite_unseen, replace_whole, move_away, ignore]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_that_ended_is_never_missing(house: House, rung: str, change: Any) -> None:
    client = house.raised_to(rung).client()
    assert TOTAL in ask(client, [TOTAL])
    change(house)
    found = ask(client, [TOTAL, "node:shop/price.py:tutal"])
    assert found.rung == rung
    assert TOTAL not in found
    if change in (rewrite_unseen, replace_whole):
        assert found["node:shop/price.py:tutal"].fresh
    if rung != "file":
        callees = ask(client, [CART])[CART].callees or ()
        assert TOTAL not in [edge.key for edge in callees]


def test_a_new_file_is_seen(house: House, rung: str) -> None:
    client = house.raised_to(rung).client()
    ask(client, [TOTAL])
    house.write({"new/deep/er.py": "from shop.price import total\n\n\ndef f():\n    total([])\n"})
    found = ask(client, ["node:new/deep/er.py:f", TOTAL])
    assert "node:new/deep/er.py:f" in found
    if rung != "file":
        callers = found[TOTAL].callers or ()
        assert "node:new/deep/er.py:f" in [edge.key for edge in callers]


def test_nothing_is_written(house: House, rung: str) -> None:
    house.raised_to(rung)
    if rung == "socket":
        pytest.skip("the daemon writes its own database")
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
