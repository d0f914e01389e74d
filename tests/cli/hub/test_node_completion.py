"""Names of nodes in the shell, from the database alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, write

FILES: dict[str, str | bytes] = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return 1\n",
    "shop/price.py": "def total():\n    return 2\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", FILES)
    git(root, "init", "-q")
    return root


def completed(user: Remora, root: Path, line: str) -> list[str]:
    words = {"COMP_WORDS": line, "COMP_REPLACED": line.rpartition(" ")[2]}
    asked = {"_REMORA_COMPLETE": "bash_complete", **words}
    done = replace(user, environ={**user.environ, **asked}).afresh(cwd=root)
    assert (done.code, done.err) == (0, "")
    return [value.removeprefix("plain,") for value in done.out.split()]


def test_nodes_are_completed_by_key_path_and_qualname_without_a_daemon(
    poor: Remora, shop: Path
) -> None:
    assert completed(poor, shop, "remora hub get shop/c") == [], "there is no database yet"
    assert poor("hub", "index", cwd=shop).code == 0
    cart = ["shop/cart.py:Cart", "shop/cart.py:Cart.total", "shop/cart.py"]
    assert completed(poor, shop, "remora hub get shop/c") == cart
    assert completed(poor, shop, "remora hub callers node:shop/c") == [f"node:{c}" for c in cart]
    assert completed(poor, shop, "remora hub callees Cart.t") == ["Cart.total"]
    assert completed(poor, shop, "remora hub tests total") == ["total"]
    assert completed(poor, shop, "remora hub get shop/cart.py:__m") == ["shop/cart.py:__module__"]
    assert completed(poor, shop, "remora hub get nothing") == []
    assert len(completed(poor, shop, "remora hub get ")) == 5
    assert not list((poor.home / "cache").rglob("*.daemon")), "no daemon was started"
