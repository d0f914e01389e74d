"""HubClient.find: the node that a name means, whichever source answers."""

from collections.abc import Iterator

import pytest

from remora.errors import NotFound, OutsideError, UsageError
from remora.hub.sources.node_lookup import FoundNode
from tests.hub.client.conftest import CART, FILES, TOTAL, House, housed, run

MODULE = "node:shop/cart.py:__module__"
_OVERLOADED = """
from typing import overload
class Shelf:
    @overload
    def get(self, n: int): ...
    @overload
    def get(self, n: str): ...
    def get(self, n):
        return n
def use():
    return Shelf().get(1)
"""
_TWICE = "def f(): ...\n\n\ndef f(): ...\n\n\ndef f(): ...\n"


@pytest.fixture(scope="module", params=["socket", "sqlite"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    with housed() as made:
        made.write(FILES)
        made.write({"overloaded.py": _OVERLOADED})
        made.write({"twice.py": _TWICE, "other.py": "class Other:\n    def sum(self): ...\n"})
        yield made.raised_to(request.param)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("total", TOTAL),
        (TOTAL, TOTAL),
        ("shop/price.py:total", TOTAL),
        ("shop.price.total", TOTAL),
        ("total([1, 2])", TOTAL),
        ("Cart.sum", CART),
        ("shop/cart.py", MODULE),
        ("shop.cart", MODULE),
        ("shop/price.py:3", TOTAL),
        ("shop.cart.total", TOTAL),  # where it is imported to
        ("tests/test_price.py::test_total", "node:tests/test_price.py:test_total"),
    ],
)
def test_a_name_is_found(house: House, name: str, key: str) -> None:
    assert run(house.client().find(name)).key == key


def test_folders_further_definitions_and_constructors(house: House) -> None:
    found = run(house.client().find("price.py:total", folder=house.root / "shop"))
    assert found == FoundNode(TOTAL, "function")
    found = run(house.client().find("twice.py:f"))
    assert found.further == ("node:twice.py:f#2", "node:twice.py:f#3")
    assert run(house.client().constructor("node:shop/cart.py:Cart")) is None


@pytest.mark.parametrize("name", ["Shelf.get", "overloaded.py:Shelf.get"])
def test_an_overloaded_name_is_its_implementation(house: House, name: str) -> None:
    found = run(house.client().find(name))
    assert (found.key, found.further) == ("node:overloaded.py:Shelf.get#3", ())
    callers = run(house.client().callers(found.key))
    assert callers is not None
    assert [edge["key"] for edge in callers["callers"]] == ["node:overloaded.py:use"]
    stub = "node:overloaded.py:Shelf.get"
    assert run(house.client().find(stub)).key == stub


def test_a_name_of_several_nodes_or_of_none_is_an_error_with_the_nearest(house: House) -> None:
    with pytest.raises(UsageError) as caught:
        run(house.client().find("sum"))
    assert "other.py:Other.sum" in caught.value.hint
    assert "shop/cart.py:Cart.sum" in caught.value.hint
    with pytest.raises(NotFound) as refused:
        run(house.client().find("totl"))
    assert "shop/price.py:total" in refused.value.hint
    with pytest.raises(NotFound, match="is a folder"):
        run(house.client().find("tests"))
    (house.root / "large.py").write_bytes(b"#" * (1 << 21))
    try:
        with pytest.raises(NotFound, match="skipped: larger than 1 MiB"):
            run(house.client().find("large.py"))
    finally:
        (house.root / "large.py").unlink()


def test_without_an_index_a_whole_name_is_found_and_another_is_an_error() -> None:
    with housed() as house:
        house.write({"a.py": "def f(): ...\n"})
        assert run(house.client().find("a.py:f")) == FoundNode("node:a.py:f")
        with pytest.raises(OutsideError, match="no daemon is running and there is no index"):
            run(house.client().find("f"))
