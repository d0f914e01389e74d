"""Answers are made side by side; one that takes long keeps nobody waiting for ever."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.errors import DiskError
from remora.hub.daemon import query_threads
from remora.hub.daemon.query_threads import NewestQueries, QueryThreads, ReadFiles
from remora.hub.protocol import Refused
from remora.hub.query.node_queries import NodeQueries
from remora.hub.store.hub_store import HubStore
from tests.hub.store.conftest import put


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HubStore]:
    with HubStore(tmp_path / "hub.db", root=tmp_path, clock=lambda: datetime.now(UTC)) as store:
        yield store


def with_threads(db: Path, work: Callable[[QueryThreads], Awaitable[None]]) -> None:
    async def main() -> None:
        asking = QueryThreads(db.parent, db, ReadFiles.empty())
        try:
            await work(asking)
        finally:
            asking.close()

    asyncio.run(main())


def generation(answers: NodeQueries) -> int:
    return answers.view.generation


MOVING = {"a.py": "def f(): ...\n", "b.py": "", "c.py": "from a import f\nf()\n"}


def callers(answers: NodeQueries) -> list[str]:
    return [edge["key"] for edge in answers.callers("node:a.py:f")["callers"]]


def test_an_answer_is_of_one_state_though_much_is_stored_while_it_is_made(
    store: HubStore, tmp_path: Path
) -> None:
    put(store, MOVING)
    moves = iter([{"b.py": MOVING["c.py"], "c.py": ""}])
    told = []

    def overtaken(answers: NodeQueries) -> list[str]:
        put(store, next(moves, {}))
        told.append((answers.generation, callers(answers)))
        return told[-1][1]

    async def asked(asking: QueryThreads) -> None:
        began = store.generation
        assert await asking.ask(overtaken) == ["node:b.py:__module__"]
        assert [generation for generation, _ in told] == [began, store.generation]

    with_threads(tmp_path / "hub.db", asked)


def test_an_answer_over_two_states_is_computed_again(store: HubStore, tmp_path: Path) -> None:
    put(store, MOVING)
    moves = iter([{"c.py": ""}])

    def torn(answers: NodeQueries) -> list[str]:
        for files in moves:
            put(store, files)
            raise IndexError("a call of the file as it was")
        return callers(answers)

    def faulty(answers: NodeQueries) -> str:
        return callers(answers)[0]

    async def asked(asking: QueryThreads) -> None:
        assert await asking.ask(torn) == []
        with pytest.raises(IndexError):  # of one state it is a bug
            await asking.ask(faulty)
        assert await asking.ask(callers) == []

    with_threads(tmp_path / "hub.db", asked)


@pytest.mark.slow
def test_a_question_about_links_ends_after_its_time(
    store: HubStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_threads, "GIVE_UP_S", 0.5)
    put(store, {"a.py": "def slow(a):\n" + "    if a:\n        x = a.b\n    x()\n" * 4000})
    began = time.process_time()
    with pytest.raises(Refused, match="the query takes longer than"):
        NewestQueries(tmp_path, tmp_path / "hub.db", ReadFiles.empty()).ask(
            lambda answers: answers.callees("node:a.py:slow")
        )
    assert time.process_time() - began < 5


def test_constant_writes_do_not_repeat_a_question_forever(store: HubStore, tmp_path: Path) -> None:
    put(store, MOVING)
    asked_of: list[int] = []

    def overtaken(answers: NodeQueries) -> list[str]:
        asked_of.append(answers.generation)
        before = callers(answers)
        put(store, {"d.py": f"from a import f\nf({len(asked_of)})\n"})
        assert callers(answers) == before
        return before

    async def asked(asking: QueryThreads) -> None:
        await asking.ask(overtaken)
        assert len(set(asked_of)) == 3
        assert asked_of[-1] < store.generation  # and told so: it is not kept
        assert await asking.ask(callers) == ["node:c.py:__module__", "node:d.py:__module__"]

    with_threads(tmp_path / "hub.db", asked)


def test_others_are_answered_while_one_takes_long_and_too_many_are_reported(
    store: HubStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_threads, "_PATIENCE_S", 0.05)
    go_on = threading.Event()

    def slow(answers: NodeQueries) -> int:
        assert go_on.wait(20)
        return answers.view.generation

    async def asked(asking: QueryThreads) -> None:
        waiting = [
            asyncio.create_task(asking.ask(slow)) for _ in range(query_threads.MAX_THREADS - 1)
        ]
        await asyncio.sleep(0)
        assert await asking.ask(generation) == store.generation
        waiting.append(asyncio.create_task(asking.ask(slow)))
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="slow requests"):
            await asking.ask(generation)
        go_on.set()
        assert await asyncio.gather(*waiting) == [store.generation] * query_threads.MAX_THREADS
        assert await asking.ask(generation) == store.generation

    with_threads(tmp_path / "hub.db", asked)


def test_an_answer_that_takes_too_long_is_not_waited_for(
    store: HubStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_threads, "ANSWER_LIMIT_S", 0.05)
    go_on = threading.Event()

    async def asked(asking: QueryThreads) -> None:
        with pytest.raises(Refused, match="takes longer than"):
            await asking.ask(lambda _: go_on.wait(20))
        go_on.set()

    with_threads(tmp_path / "hub.db", asked)


def test_an_answer_without_waiting_clients_is_cancelled(
    store: HubStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_threads, "GIVE_UP_S", 0.05)

    def for_ever(answers: NodeQueries) -> int:
        while True:
            answers.view.mentioning("shop")

    async def asked(asking: QueryThreads) -> None:
        with pytest.raises(Refused, match="takes longer than"):
            await asking.ask(for_ever)
        monkeypatch.setattr(query_threads, "GIVE_UP_S", 20)
        assert await asking.ask(generation) == store.generation

    with_threads(tmp_path / "hub.db", asked)


def test_the_time_of_a_question_begins_with_it_however_long_ago_the_last_one_was(
    store: HubStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    near = NewestQueries(tmp_path, tmp_path / "hub.db", ReadFiles.empty())
    assert near.ask(generation) == store.generation
    now[0] += 24 * 3600
    assert near.ask(generation) == store.generation
    near.close()


def test_a_question_has_its_time_in_a_database_that_was_replaced_too(tmp_path: Path) -> None:
    until: list[float] = []

    def opened(folder: str) -> HubStore:
        db = tmp_path / folder / "hub.db"
        return HubStore(db, root=tmp_path, clock=lambda: datetime.now(UTC))

    def replaced(answers: NodeQueries) -> None:
        until.append(answers.view.deadline)
        if len(until) == 1:
            put(written, MOVING)
            (tmp_path / "cache").rename(tmp_path / "away")
            (tmp_path / "new").rename(tmp_path / "cache")

    with opened("cache") as written:
        opened("new").close()
        near = NewestQueries(tmp_path, tmp_path / "cache" / "hub.db", ReadFiles.empty())
        near.ask(replaced)
        near.close()
    assert until == [until[0]] * 2


def test_a_missing_database_is_reported_and_found_when_it_is(tmp_path: Path) -> None:
    async def asked(asking: QueryThreads) -> None:
        with pytest.raises(DiskError):
            await asking.ask(generation)
        with HubStore(tmp_path / "hub.db", root=tmp_path, clock=lambda: datetime.now(UTC)) as store:
            assert await asking.ask(generation) == store.generation

    with_threads(tmp_path / "hub.db", asked)
