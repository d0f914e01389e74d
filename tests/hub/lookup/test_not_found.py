"""A path that leads to no node is answered as a path."""

import os
from pathlib import Path

import pytest

from remora.errors import DiskError
from remora.hub.file_limits import FILE_LIMIT
from remora.hub.lookup.not_found import path_error

PATHS = {"shop/cart.py", "shop/old/price.py"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in (*PATHS, "shop/ignored.py", "README.md"):
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text("")
    (tmp_path / "out.py").write_text("")
    return (tmp_path / "root").resolve()


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("../out.py:f", "is outside the root", "--root"),
        ("../gone.py:f", "is outside the root", "--root"),
        ("/etc/passwd", "is outside the root", "--root"),
        ("shop", "is a folder", "`remora hub search shop`"),
        ("README.md", "is not a Python file", "only .py and .pyi files"),
        ("shop/price.py:total", "no such file: shop/price.py", "shop/old/price.py"),
        ("nope.py", "no such file: nope.py", ""),
        ("shop/ignored.py:f", "is not part of the project", "ignored"),
    ],
)
def test_why_a_path_leads_to_no_node(root: Path, name: str, message: str, hint: str) -> None:
    error = path_error(name, root, root, PATHS, limit=FILE_LIMIT)
    assert error is not None
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize("name", ["shop/cart.py:f", "cart.py:f", "Cart.totl", "a:b", "::", "\0"])
def test_other_lookups_are_unaffected(root: Path, name: str) -> None:
    assert path_error(name, root, root, PATHS, limit=FILE_LIMIT) is None


def test_a_file_that_may_not_be_read_is_reported(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    error = path_error("shop/cart.py:f", root, root, PATHS, limit=FILE_LIMIT)
    assert isinstance(error, DiskError)
    assert "cannot be read" in error.message
