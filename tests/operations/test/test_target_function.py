"""The name under which a test imports a module."""

import pytest

from remora.operations.test.target_function import find_target, import_name

FILES = {
    "shop/__init__.py",
    "src/ns/shop/__init__.py",
    "packages/shop/shop/__init__.py",
    "tools/shop/__init__.py",
    "tools/pyproject.toml",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cart.py", ("", "cart")),
        ("src/cart.py", ("src", "cart")),
        ("shop/__init__.py", ("", "shop")),
        ("shop/cart.py", ("", "shop.cart")),
        ("src/ns/shop/cart.py", ("src", "ns.shop.cart")),  # a namespace package
        ("packages/shop/shop/cart.py", ("packages/shop", "shop.cart")),
        ("tools/shop/cart.py", ("tools", "shop.cart")),  # a project in a folder
        ("examples/cart.py", ("examples", "cart")),
    ],
)
def test_import_name(path: str, expected: tuple[str, str]) -> None:
    assert import_name(path, FILES.__contains__) == expected


def test_a_package_without_a_folder_of_its_own_has_no_known_name() -> None:
    source = b"def total(prices):\n    return sum(prices)\n"
    assert isinstance(find_target("cart.py", source, "total", {"__init__.py"}.__contains__), str)
    assert not isinstance(find_target("cart.py", source, "total", lambda _: False), str)
