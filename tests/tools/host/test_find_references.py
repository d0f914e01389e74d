"""The host function that finds where a name is used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def shop(tree: Path) -> Path:
    (tree / "src").mkdir()
    (tree / "src/cart.py").write_text("def total(cart):\n    return sum(cart)\n")
    (tree / "src/cart.pyi").write_text("def total(cart): ...\n")
    (tree / "main.py").write_text("from src.cart import total\nprint(total([1]))\n")
    (tree / "notes.txt").write_text("total\n")
    return tree


def test_places_come_by_path_and_line(shop: Path, call: Callable[..., Any]) -> None:
    found = call("find_references", "total")

    assert [(each["path"], each["line"], each["kind"]) for each in found] == [
        ("main.py", 1, "import"),
        ("main.py", 2, "call"),
        ("src/cart.py", 1, "definition"),
        ("src/cart.pyi", 1, "definition"),
    ]
    assert found[1]["text"] == "print(total([1]))"


def test_a_pattern_narrows_the_search(shop: Path, call: Callable[..., Any]) -> None:
    found = call("find_references", "total", "src/*")

    assert {each["path"] for each in found} == {"src/cart.py", "src/cart.pyi"}


def test_a_link_shows_nothing(shop: Path, call: Callable[..., Any]) -> None:
    (shop.parent / "outside.py").write_text("total = 1\n")
    (shop / "link.py").symlink_to(shop.parent / "outside.py")
    (shop / "folder").symlink_to(shop.parent)

    assert {each["path"] for each in call("find_references", "total")} == {
        "main.py",
        "src/cart.py",
        "src/cart.pyi",
    }


@pytest.mark.parametrize("name", ["", "a.b", "a b", "1", "-x", "../x", "a\n", "\0"])
def test_only_a_name_is_looked_for(refusal: Callable[..., str], name: str) -> None:
    assert "is not a name" in refusal("find_references", name)


def test_too_many_places_are_refused(tree: Path, refusal: Callable[..., str]) -> None:
    (tree / "a.py").write_text("x\n" * 5001)

    assert "narrow the pattern" in refusal("find_references", "x")
