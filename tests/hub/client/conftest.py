"""A project, and hubs of it that stand on one rung each."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from remora.bootstrap.invocation import Invocation
from remora.hub.client import Context, HubClient
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.process import control
from remora.hub.process.addresses import read_addresses, write_addresses
from remora.hub.process.hub_paths import hub_paths
from remora.hub.store.hub_store import HubStore
from remora.usecases.hub.start_daemon import start_hub
from remora.usecases.hub.target import HubTarget
from tests.platform_facilities import PASSED_ON

_T = TypeVar("_T")
GENEROUS = 30.0
RUNGS = ("socket", "http", "sqlite", "file")
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        '"""Carts."""\n\nfrom shop.price import total\n\n\n'
        "class Cart:\n    def sum(self) -> int:\n        return total([1, 2])\n"
    ),
    "shop/price.py": (
        "def total(prices):\n"
        '    """The sum.\n\n    Args:\n        amounts: no such parameter.\n    """\n'
        "    return sum(prices) if prices else 0\n"
    ),
    "tests/test_price.py": (
        "from shop.price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    ),
}
TOTAL = "node:shop/price.py:total"
CART = "node:shop/cart.py:Cart.sum"
KEYS = (TOTAL, CART, "node:shop/cart.py:__module__", "node:shop/cart.py:Cart")


class House:
    """A user with one project; its hub stands as high as it was raised."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "project"
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **PASSED_ON}
        environ["XDG_RUNTIME_DIR"] = str(folder / "run")
        self.root.mkdir()
        self.caller = Invocation(environ=environ, folder=self.root, root=self.root)
        self.clients: list[HubClient] = []
        self.places = hub_paths(self.caller.folders, self.root)
        """Where clients look."""

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        for path, content in files.items():
            place = self.root / os.fsdecode(path)
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())

    def index(self) -> None:
        """Fill the database, as `remora hub index` does."""
        places = self.places
        places.db.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        store = HubStore(places.db, root=self.root, clock=now)
        try:
            indexer = Indexer(self.root, store, Members(self.root))
            look = indexer.look()
            indexer.refresh((*look.changed, *look.gone), source="manual")
        finally:
            store.close()

    def raised_to(self, rung: str) -> "House":
        """Make `rung` the highest that there is."""
        if rung == "socket":
            start_hub(self.caller, HubTarget())
            self.until(lambda: ask(self.client(), [TOTAL]).source == "socket")
        elif rung == "http":
            start_hub(self.caller, HubTarget(http="0"))
            self.hide_socket()
            self.until(lambda: ask(self.client(), [TOTAL]).source == "http")
        elif rung == "sqlite":
            self.index()
        return self

    def hide_socket(self) -> None:
        """From now on, clients look where the daemon's files are, but its socket is not."""
        usual, nowhere = hub_paths(self.caller.folders, self.root), self.folder / "nowhere"
        found = read_addresses(usual.addresses)
        assert found is not None
        copied = usual.addresses.with_name("copied.addresses")
        write_addresses(copied, replace(found, socket=str(nowhere)))
        self.places = self.places._replace(socket=nowhere, addresses=copied)

    def remora(self, *words: str) -> str:
        """What a command prints, that must be well."""
        done = subprocess.run(
            [sys.executable, "-m", "remora", *words, "--root", str(self.root)],
            cwd="/", env=dict(self.caller.environ), capture_output=True, text=True, timeout=50,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self, **options: Any) -> HubClient:
        """One with time, closed when the test ends."""
        settled = {"deadline": GENEROUS, "places": self.places, **options}
        self.clients.append(HubClient(self.root, **settled))
        return self.clients[-1]

    def until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not done():
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.02)

    def close(self) -> None:
        for client in self.clients:
            client.close()
        control.stop(self.places)


def now() -> datetime:
    return datetime.now(UTC)


def run(work: Awaitable[_T]) -> _T:
    async def main() -> _T:
        return await work

    return asyncio.run(main())


def ask(client: HubClient, keys: list[str]) -> Context:
    return run(client.get_context(keys))


@contextmanager
def housed() -> Iterator[House]:
    """A house without files; its paths are short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="rh-")).resolve()
    house = House(folder)
    try:
        yield house
    finally:
        house.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty() -> Iterator[House]:
    """A house of the test's own, without files."""
    with housed() as house:
        yield house


@pytest.fixture
def house(empty: House) -> House:
    """A house with the project."""
    empty.write(FILES)
    return empty


@pytest.fixture(params=RUNGS)
def rung(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    return str(request.param)
