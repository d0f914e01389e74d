"""The daemon finds links ahead, by a child that anything may happen to."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remora.errors import DiskError
from remora.hub.daemon import link_scheduler as module
from remora.hub.daemon.change_queue import ChangeQueue
from remora.hub.daemon.link_scheduler import LinkScheduler
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import open_snapshot
from remora.usecases.hub.index import index_hub
from remora.usecases.hub.target import HubTarget
from tests.hub.conftest import Client
from tests.hub.daemon.hub_process import Hub, is_gone, wait_until
from tests.hub.index_check import verify
from tests.hub.precomputed_links import ODD, spoil
from tests.hub.store.conftest import put

ADD, TOTAL = "node:shop/tax.py:add", "node:shop/orders.py:total"


@pytest.fixture
def hub(short: Path) -> Iterator[Hub]:
    hub = Hub(short, short / "project", REMORA_HUB_QUIET="0")
    hub.write("shop/__init__.py", "")
    hub.write("shop/tax.py", "def add(x):\n    return x * 2\n")
    hub.write("shop/orders.py", "from shop import tax\n\ndef total(x):\n    return tax.add(x)\n")
    yield hub
    hub.end()


def many(hub: Hub, files: int) -> None:
    """Enough to link for a while."""
    for number in range(files):
        functions = "".join(
            f"def f{each}(x):\n    return m{(number + each) % files}.f{each}(x)\n\n\n"
            for each in range(30)
        )
        imports = "".join(f"from big import m{other}\n" for other in range(files))
        hub.write(f"big/m{number}.py", f"{imports}\n\n{functions}")


def is_linked(hub: Hub, caller: str = TOTAL) -> bool:
    """Return True if all links are in the database, a call of `ADD` among them."""
    view = open_snapshot(hub.cache / "hub.db")
    if view is None:
        return False
    with closing(view):
        return caller in [edge.key for edge in view.links().stored("callers", ADD) or ()]


def linked(hub: Hub) -> int:
    """How many nodes' links stand there."""
    with closing(sqlite3.connect(hub.cache / "hub.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM linked").fetchone()
        return int(count)


def children(pid: int) -> list[int]:
    """Those of a daemon that find links."""
    said = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in said if b"link_child" in _command(child)]


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def callers(hub: Hub, key: str) -> list[Any]:
    with Client(hub.socket) as client:
        answer = client.ask("callers", node=key)
    assert answer["result"]["fresh"]
    return [edge["key"] for edge in answer["result"]["callers"]]


def test_links_are_found_ahead_and_follow_what_is_edited(hub: Hub) -> None:
    hub.start()
    wait_until(lambda: is_linked(hub), "for the links")
    assert callers(hub, ADD) == [TOTAL]

    hub.write("shop/till.py", "from shop.tax import add\n\ndef pay():\n    return add(1)\n")

    assert callers(hub, ADD) == [TOTAL, "node:shop/till.py:pay"]
    wait_until(lambda: is_linked(hub), "for the links of the new file")
    assert callers(hub, ADD) == [TOTAL, "node:shop/till.py:pay"]


@pytest.mark.slow
def test_a_killed_child_costs_no_answer_and_what_it_found_is_kept(hub: Hub) -> None:
    many(hub, 40)
    status = hub.start()
    wait_until(lambda: linked(hub) > 20, "for some links")
    born = children(status["pid"])
    for child in born:
        os.kill(child, signal.SIGKILL)
    assert callers(hub, ADD) == [TOTAL]
    wait_until(lambda: all(map(is_gone, born)), "for the child's end")
    before = linked(hub)
    assert before > 20
    os.kill(status["pid"], signal.SIGKILL)
    wait_until(lambda: not hub.status()["running"], "for its last thread")

    hub.start()

    assert linked(hub) >= before
    wait_until(lambda: is_linked(hub), "for the rest")
    assert_whole(hub)


@pytest.mark.slow
def test_a_killed_daemon_takes_its_child_along_and_what_was_found_is_right(hub: Hub) -> None:
    many(hub, 40)
    status = hub.start()
    wait_until(lambda: linked(hub) > 20, "for some links")
    born = children(status["pid"])
    os.kill(status["pid"], signal.SIGKILL)
    wait_until(lambda: all(map(is_gone, born)), "for the child's end")
    wait_until(lambda: not hub.status()["running"], "for its last thread")
    hub.write("shop/tax.py", "def add(x):\n    return len(x)\n")
    hub.write("big/m3.py", "from big import m1\n\ndef f1(x):\n    return m1.f1(x)\n")

    hub.start()

    wait_until(lambda: is_linked(hub), "for the rest")
    assert_whole(hub)


@pytest.mark.slow
def test_links_that_make_no_sense_are_recomputed(hub: Hub) -> None:
    hub.start()
    wait_until(lambda: is_linked(hub), "for the links")
    with closing(sqlite3.connect(hub.cache / "hub.db", isolation_level=None)) as connection:
        connection.execute("UPDATE linked SET reads = x'00'")

    hub.write("shop/till.py", "from shop.tax import add\n\ndef pay():\n    return add(1)\n")

    wait_until(lambda: is_linked(hub, "node:shop/till.py:pay"), "for the new links")
    assert_whole(hub)


def assert_whole(hub: Hub) -> None:
    hub.stop()
    view = open_snapshot(hub.cache / "hub.db")
    assert view is not None
    with closing(view):
        assert view.links().stored("callers", ADD) is not None
        assert verify(hub.root, Members(hub.root), view).differences == ()


class Clock:
    """Stands still until it is set; counts how often it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return self.now


@asynccontextmanager
async def foreseeing(folder: Path, quiet_s: float) -> AsyncIterator[LinkScheduler]:
    """At work on a project that nobody else writes."""
    db = folder / "hub.db"
    with HubStore(db, root=folder, clock=lambda: datetime.now(UTC)) as store:
        put(store, {"a.py": "def f(): ...\n"})
        upkeep: Any = SimpleNamespace(ready=True, pending=ChangeQueue(), storing=asyncio.Lock())
        foresight = LinkScheduler(db, store, upkeep, {}, quiet_s=quiet_s, damaged=lambda: None)
        working = asyncio.create_task(foresight.work())
        try:
            yield foresight
        finally:
            working.cancel()
            await asyncio.wait({working})


def test_nothing_is_begun_while_a_user_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    begun: list[float] = []

    async def round_begun(_: LinkScheduler) -> None:
        begun.append(clock.now)
        await asyncio.Event().wait()

    async def looked_at(times: int) -> None:
        until = clock.looks + times
        async with asyncio.timeout(20):
            while clock.looks < until and not begun:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def edited() -> None:
        async with foreseeing(tmp_path, quiet_s=0.05) as foresight:
            await looked_at(5)
            assert begun == []
            clock.now = 0.04
            foresight.changed()
            clock.now = 0.08  # long enough after the first change, but not after the edit
            await looked_at(5)
            assert begun == []
            clock.now = 0.10
            await looked_at(1_000_000)
            assert begun == [0.10]

    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(LinkScheduler, "_round", round_begun)
    asyncio.run(edited())


def test_no_child_waits_with_what_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def full(foresight: LinkScheduler, _base: int, _portion: Any) -> bool:
        begun.append(foresight.pid or 0)
        raise DiskError("the disk is full")

    async def tried() -> None:
        async with foreseeing(tmp_path, quiet_s=0) as foresight, asyncio.timeout(20):
            while not begun or not is_gone(begun[0]):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            assert foresight.pid is None

    monkeypatch.setattr(module, "_RETRY_S", 3600.0)
    monkeypatch.setattr(LinkScheduler, "_put_portion", full)
    asyncio.run(tried())


def test_failed_links_are_retried_after_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    async def fails(_: LinkScheduler) -> None:
        tried.append(len(tried))
        raise DiskError("there was no room for it")

    async def has_tried(times: int) -> None:
        async with asyncio.timeout(20):
            while len(tried) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def edited() -> None:
        async with foreseeing(tmp_path, quiet_s=0) as foresight:
            foresight._pause = 3600.0  # it has failed for hours
            await has_tried(1)
            await asyncio.sleep(0.05)
            assert len(tried) == 1
            foresight.changed()
            await has_tried(2)

    monkeypatch.setattr(module, "_RETRY_S", 0.01)
    monkeypatch.setattr(LinkScheduler, "_round", fails)
    asyncio.run(edited())


@pytest.mark.slow
def test_a_node_that_cannot_be_linked_is_named_in_the_log(hub: Hub) -> None:
    hub.write("shop/odd.py", ODD)
    index_hub(hub.caller, HubTarget(), lambda _done, _all: None)
    with closing(sqlite3.connect(hub.cache / "hub.db", isolation_level=None)) as connection:
        spoil(connection, "shop/odd.py")

    hub.start()

    wait_until(lambda: "shop/odd.py:odd: IndexError" in hub.log, "for the reason")
    assert not is_linked(hub)
    assert linked(hub) == hub.status()["nodes"] - 2  # the function and its module
    assert callers(hub, ADD) == [TOTAL]


@pytest.mark.slow
def test_errors_of_a_child_that_cannot_start_are_logged(hub: Hub) -> None:
    hub.write("shop/odd.py", ODD)
    hub.start()
    wait_until(lambda: is_linked(hub), "for the links")
    hub.stop()
    with closing(sqlite3.connect(hub.cache / "hub.db", isolation_level=None)) as connection:
        spoil(connection, "shop/odd.py")
        connection.execute("UPDATE carried SET names = 7")
        connection.execute("DELETE FROM meta WHERE name = 'links_of'")
        connection.execute("UPDATE linked SET reads = 7")

    hub.start()

    wait_until(lambda: "the child exited with 1: Traceback" in hub.log, "for its last words")


def test_stored_links_of_unknown_nodes_are_not_returned(hub: Hub) -> None:
    hub.start()
    wait_until(lambda: is_linked(hub), "for the links")
    with Client(hub.socket) as client:
        for _ in range(2):
            (edge,) = client.ask("callees", node=TOTAL)["result"]["callees"]
            assert edge == {"key": ADD, "tier": "exact", "lines": [4]}
        refused = client.ask("callers", node="node:shop/tax.py:nobody")
        assert refused["error"]["code"] == "unknown_node"
        assert client.ask("callers", node=ADD, depth=2)["result"]["callers"][0]["key"] == TOTAL
