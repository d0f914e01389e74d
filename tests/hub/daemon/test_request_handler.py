"""The same question asked by several at once is answered once, and never by what is older than it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.config.user_folders import UserFolders
from remora.hub.daemon import request_handler
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.request_handler import RequestHandler
from remora.hub.daemon.status import DaemonStatus
from remora.hub.daemon.updater import Updater
from remora.hub.index.indexer import Indexer, Refreshed
from remora.hub.members.members import Members
from remora.hub.process.hub_paths import hub_paths
from remora.hub.protocol import ChangedSince, GetContext, Refused, Request
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle
from remora.hub.store.hub_store import HubStore
from remora.hub.watch.watcher import open_watcher

F = "node:a.py:f"


class House:
    """A desk over the files of a folder; answers are made when `go_on` is set, and counted."""

    def __init__(self, desk: RequestHandler, root: Path) -> None:
        self.desk = desk
        self.root = root
        self.go_on = threading.Event()
        self.begun: list[Request] = []

    def ask(self, *nodes: str, **more: Any) -> "asyncio.Task[Any]":
        async def told() -> Any:
            said = self.desk.answer(GetContext(nodes=nodes or (F,), **more))
            line = await said if isinstance(said, Awaitable) else said
            return msgspec.json.decode(line)

        return asyncio.create_task(told())

    async def has_begun(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.begun) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.005)


def clock() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_house(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, scanned: bool = True
) -> AsyncIterator[House]:
    """Open a desk over a folder whose files are stored, or will be read soon."""
    (root := folder / "root").mkdir()
    (root / "a.py").write_text("def f(): ...\n")
    places = hub_paths(UserFolders(*[folder] * 4), root, db=folder / "db" / "hub.db")
    made = handle

    def counted(request: Request, over: NodeQueries, **more: Any) -> Any:
        house.begun.append(request)
        assert house.go_on.wait(20)
        return made(request, over, **more)

    def tell(done: Refreshed) -> None:
        known.generation = done.generation

    monkeypatch.setattr(request_handler, "handle", counted)
    with HubStore(places.db, root=root, clock=clock) as store:
        members = Members(root)
        indexer, watcher = Indexer(root, store, members), open_watcher(root, members)
        upkeep = Updater(root, indexer, watcher, AnalysisPool({}), report=tell)
        known = DaemonStatus(store, places, upkeep)
        working = asyncio.create_task(upkeep.work())
        house = House(RequestHandler(store, places, known, upkeep, damaged=lambda: None), root)
        try:
            async with asyncio.timeout(20):
                while scanned and not upkeep.ready:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            yield house
        finally:
            house.go_on.set()
            house.desk.close()
            working.cancel()
            await asyncio.wait({working})
            await upkeep.close()


def test_a_question_during_the_initial_scan_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch, scanned=False) as house:
            with pytest.raises(Refused, match="initial scan"):
                house.desk.answer(ChangedSince(generation=0))
            house.go_on.set()
            assert (await house.ask())["result"][F]["fresh"]

    asyncio.run(asked())


def test_the_same_question_of_several_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch) as house:
            askers = [house.ask(id=number) for number in range(5)]
            await house.has_begun(1)
            await asyncio.sleep(0.05)  # those that would begin it again have had the time
            house.go_on.set()
            said = await asyncio.gather(*askers)
            assert [one["id"] for one in said] == [0, 1, 2, 3, 4]
            assert all(one["result"][F]["fresh"] for one in said)
            assert len(house.begun) == 1

    asyncio.run(asked())


def test_a_question_after_an_edit_gets_no_earlier_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch) as house:
            before = house.ask()
            await house.has_begun(1)
            (house.root / "a.py").write_text("def f(x): ...\n")
            after = house.ask()
            await house.has_begun(2)
            house.go_on.set()
            said = (await after)["result"][F]
            assert (said["signature"], said["fresh"]) == ("def f(x)", True)
            assert (await before)["ok"]

    asyncio.run(asked())


@pytest.mark.needs("inotify")
def test_a_disconnected_client_does_not_cancel_shared_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch) as house:
            first, second = house.ask(), house.ask()
            await house.has_begun(1)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            third = house.ask()
            house.go_on.set()
            for one in (second, third):
                assert (await one)["result"][F]["fresh"]
            assert len(house.begun) == 1

    asyncio.run(asked())


@pytest.mark.needs("inotify")
def test_an_answer_without_its_tests_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch) as house:
            house.go_on.set()
            monkeypatch.setattr("remora.hub.query.node_queries.TESTS_S", -1)
            first = await house.ask()
            monkeypatch.setattr("remora.hub.query.node_queries.TESTS_S", 20)
            second, third = await house.ask(), await house.ask()
            told = [said["result"][F]["related_tests"] for said in (first, second, third)]
            assert told == [None, [], []]
            assert len(house.begun) == 2

    asyncio.run(asked())


@pytest.mark.needs("inotify")
def test_what_questions_take_counts_among_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_handler, "_MAX_CACHED", 10_000)

    async def asked() -> None:
        async with open_house(tmp_path, monkeypatch) as house:
            house.go_on.set()
            for key in ("node:a.py:" + letter * 6_000 for letter in "xyx"):
                assert (await house.ask(key))["result"] == {}
            assert len(house.begun) == 3  # the first one had to make room

            for _ in range(2):
                await house.ask()
            assert len(house.begun) == 4

    asyncio.run(asked())
