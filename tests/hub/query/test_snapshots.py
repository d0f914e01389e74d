"""Views: what they know of files just read, alone and over another view."""

import pytest

from remora.hub.query.snapshots import MemorySnapshot, OverlaidSnapshot, Snapshot
from tests.hub.small_files import facts_of

SHOP = {
    "shop/orders.py": "import tax\n\ndef total(x):\n    return tax.add(x)\n",
    "shop/tax.py": "def add(x):\n    return x * 2\n\nclass Rate:\n    def of(self):\n        pass\n",
}


def view_of(files: dict[str, str]) -> MemorySnapshot:
    return MemorySnapshot({path: facts_of(path, source) for path, source in files.items()})


@pytest.fixture
def shop() -> Snapshot:
    return view_of(SHOP)


def test_a_view_knows_its_nodes_and_is_a_program_for_the_linker(shop: Snapshot) -> None:
    node = shop.node("node:shop/tax.py:Rate.of")

    assert node is not None
    assert (node.facts.signature, node.partial) == ("def of(self)", False)
    assert (node.last_updated, node.update_source) == (None, "adhoc")
    assert shop.node("node:shop/tax.py:nothing") is None
    assert [n.facts.qualname for n in shop.nodes("shop/tax.py")] == [
        "__module__",
        "add",
        "Rate",
        "Rate.of",
    ]
    assert shop.nodes("nowhere.py") == ()
    assert set(shop.paths()) == set(SHOP)
    lowered = shop.lowered("shop/orders.py")
    assert lowered is not None
    assert "tax" in lowered.names
    assert shop.lowered("nowhere.py") is None
    assert list(shop.mentioning("add")) == ["shop/orders.py", "shop/tax.py"]
    assert list(shop.mentioning("nobody")) == []
    assert len(shop.search("shop", 50)) == 6
    assert len(shop.search("shop", 2)) == 2


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("total", "node:shop/orders.py:total"),
        ("TOTAL", "node:shop/orders.py:total"),
        ("shop/tax.py:add", "node:shop/tax.py:add"),
        ("node:shop/tax.py:add", "node:shop/tax.py:add"),
        ("of", "node:shop/tax.py:Rate.of"),
        ("rate", "node:shop/tax.py:Rate"),
        ("tax rate", "node:shop/tax.py:Rate"),
        ("tax", "node:shop/tax.py:__module__"),
    ],
)
def test_a_search_puts_first_what_fits_best(shop: Snapshot, query: str, first: str) -> None:
    assert shop.search(query, 50)[0].facts.key == first


@pytest.mark.parametrize("query", ["", "   ", "nothing", "rate nothing", "__module__"])
def test_a_search_may_find_nothing(shop: Snapshot, query: str) -> None:
    assert shop.search(query, 50) == []


def test_files_as_they_are_now_lie_over_a_view(shop: Snapshot) -> None:
    new = facts_of("shop/new.py", "def fresh():\n    return add(1)\n")
    now = OverlaidSnapshot(shop, {"shop/new.py": new, "shop/orders.py": None})

    assert set(now.paths()) == {"shop/new.py", "shop/tax.py"}
    assert now.node("node:shop/orders.py:total") is None
    assert now.node("node:shop/tax.py:add") == shop.node("node:shop/tax.py:add")
    assert list(now.mentioning("add")) == ["shop/new.py", "shop/tax.py"]
    assert now.lowered("shop/orders.py") is None
    assert [node.facts.key for node in now.search("fresh", 9)] == ["node:shop/new.py:fresh"]
    assert "node:shop/orders.py:total" not in set(now.keys())
    assert now.nodes("shop/orders.py") == ()
