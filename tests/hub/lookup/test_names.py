"""What people mean by a name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.hub.lookup.names import as_key, full_keys, line_named, matching_keys, queries
from remora.ids import MODULE, node_key

ROOT = Path("/home/ann/shop")
KEYS = [
    node_key("src/shop/cart.py"),
    node_key("src/shop/cart.py", "Cart"),
    node_key("src/shop/cart.py", "Cart.total"),
    node_key("src/shop/cart.py", "total"),
    node_key("src/shop/order.py", "Order.total"),
    node_key("src/shop/order.py", "Order.ship"),
    node_key("src/shop/__init__.py"),
]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("total", [3]),  # a whole qualname comes before the end of one
        ("ship", [5]),
        ("Cart", [1]),
        ("shop.cart.total", [3]),
        ("src.shop.cart.Cart.total", [2]),
        ("cart.py:total", [3]),
        ("order.py:total", [4]),
        ("shop/cart.py:total", [3]),
        ("shop", [6]),
        ("shop.cart", [0]),
        ("node:Cart.total", [2]),
        ("hop.cart", []),
        ("art.py:total", []),
        ("otal", []),
        ("", []),
    ],
)
def test_a_name_means_what_it_fits_best(name: str, meant: list[int]) -> None:
    assert matching_keys(name, KEYS) == [KEYS[at] for at in meant]


def test_stubs_are_meant_only_if_nothing_else_fits() -> None:
    names = ("cart.py", "f"), ("cart.pyi", "f"), ("cart.pyi", "g"), ("stubs/far.pyi", "f")
    keys = [node_key(*name) for name in names]
    assert matching_keys("f", keys) == matching_keys("cart.f", keys) == keys[:1]
    assert matching_keys("g", keys) == matching_keys("cart.g", keys) == keys[2:3]
    assert matching_keys("cart.pyi:f", keys) == keys[1:2]


def test_a_name_that_fits_several_equally_means_them_all() -> None:
    keys = [node_key("a.py", "A.run"), node_key("b.py", "B.run"), node_key("c.py", "run2")]
    assert matching_keys("run", keys) == keys[:2]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("src/a.py:f", "node:src/a.py:f"),
        ("./a.py:f", "node:src/a.py:f"),
        ("../a.py:f", "node:a.py:f"),
        ("/home/ann/shop/a%.py", "node:a%25.py:__module__"),
    ],
)
def test_a_path_is_read_as_the_shell_in_a_folder_reads_it(name: str, first: str) -> None:
    assert first in full_keys(name, ROOT, ROOT / "src")
    if name.startswith("."):
        assert full_keys(name, ROOT, ROOT / "src")[0] == first


@given(st.text(), st.sampled_from(["", "src", "src/shop"]))
def test_any_text_may_be_a_name(name: str, folder: str) -> None:
    keys = full_keys(name, ROOT, ROOT / folder)
    assert all(key.startswith("node:") for key in keys)
    assert all(query == query.strip() for query in queries(name, keys))
    assert set(matching_keys(name, KEYS)) <= set(KEYS)


@given(st.sampled_from(KEYS))
def test_every_key_is_found_by_its_own_spelling(key: str) -> None:
    assert full_keys(key, ROOT, ROOT)[0] == key
    plain = key.removeprefix("node:").removesuffix(f":{MODULE}")
    assert full_keys(plain, ROOT, ROOT)[0] == key


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("tests/test_a.py::test_b", "tests/test_a.py:test_b"),
        ("tests/test_a.py::TestC::test_b[1-x::y]", "tests/test_a.py:TestC.test_b"),
        ("total()", "total"),
        ("Cart.total(items, currency='EUR')", "Cart.total"),
        ("cart.py:Cart.total", "cart.py:Cart.total"),
        ("shop.cart:Cart.total", "shop.cart.Cart.total"),
        ("shop.cart:total()", "shop.cart.total"),
        ("src/cart.pyi:total", "src/cart.pyi:total"),
        ("cart.pyi:total", "cart.pyi:total"),
        ("node:total", "node:total"),
        ("f#2", "f#2"),
        ("()", "()"),
        ("::", "::"),
    ],
)
def test_pasted_text_is_parsed_as_a_name(pasted: str, meant: str) -> None:
    assert as_key(pasted) == meant


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a/b.py:116", ("a/b.py", 116)),
        ("node:b.py:7:12:", ("b.py", 7)),
        ("b.py:f", None),
        ("b.py:0", None),
        ("b.py", None),
    ],
)
def test_a_number_behind_a_file_is_a_line(name: str, place: tuple[str, int] | None) -> None:
    assert line_named(name) == place
