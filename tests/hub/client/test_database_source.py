"""Database source: what it caches between questions."""

from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path

import pytest

from remora.hub.members.members import Members
from remora.hub.protocol import Callers
from remora.hub.query.snapshots import OverlaidSnapshot
from remora.hub.sources.database_source import DatabaseSource
from remora.hub.sources.source_answer import Budget
from remora.hub.store.hub_store import HubStore
from tests.clock import ticking
from tests.hub.store.conftest import put

FILES = {
    "shop/__init__.py": "from shop.price import total\n",
    "shop/price.py": "def total(items):\n    return sum(items)\n",
    "shop/cart.py": (
        "from shop import total\n\ndef pay(how=total):\n    return how([])\n\n"
        "class Cart:\n    add = total\n    def sum(self):\n        return self.add()\n"
    ),
    "shop/till.py": "from shop import cart\n\ndef ring():\n    return cart.Cart().add()\n",
}
CALLERS = Callers(node="node:shop/price.py:total")


@pytest.fixture
def rung(tmp_path: Path) -> Iterator[DatabaseSource]:
    root, db = tmp_path / "root", tmp_path / "hub.db"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with HubStore(db, root=root, clock=ticking()) as store:
        put(store, FILES)
    found = DatabaseSource(root, db, Members(root))
    yield found
    found.close()


def callers(rung: DatabaseSource) -> list[str]:
    told = rung.ask(CALLERS, Budget(60))
    assert told is not None
    return [edge["key"] for edge in told.result["callers"]]


def test_partial_links_are_not_returned_after_a_failure(
    rung: DatabaseSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = callers(rung)
    assert len(whole) > 1
    looked = OverlaidSnapshot.mentioning
    for fatal in count(1):
        looks = iter(range(fatal))

        def breaks(
            view: OverlaidSnapshot, name: str, looks: Iterator[int] = looks
        ) -> Collection[str]:
            if next(looks, None) is None:
                raise MemoryError
            return looked(view, name)

        rung._cached = None
        with monkeypatch.context() as patched:
            patched.setattr(OverlaidSnapshot, "mentioning", breaks)
            try:
                callers(rung)
                break  # it does not look that often
            except MemoryError:
                pass
        assert callers(rung) == whole
    assert fatal > 2
