"""Daemons that are killed at any moment: clients see another rung, never an error, never what was."""

import asyncio
import random
import sqlite3
import subprocess
import threading
import time
from collections import Counter

import pytest

from remora.errors import OutsideError
from remora.hub.process.control import ask
from remora.hub.protocol import ChangedSince
from remora.hub.store.owner_lock import owner
from remora.hub.store.reader import open_snapshot
from tests.hub.client.conftest import GENEROUS, House
from tests.hub.index_check import assert_right
from tests.hub.torture.daemons import PATIENCE_S, Hubs, hubs
from tests.hub.torture.timeline import Timeline, now


class Asking:
    """Clients that ask all the time, and what they saw; whatever is raised here fails the test."""

    def __init__(self, house: House, timeline: Timeline, over: threading.Event) -> None:
        self.house = house
        self.timeline = timeline
        self.over = over
        self.wrong: list[str] = []
        self.rungs: Counter[str | None] = Counter()

    def run(self, clients: int) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(self._one(seed) for seed in range(clients)))

        asyncio.run(all_of_them())

    async def _one(self, seed: int) -> None:
        chance = random.Random(seed)
        client = self.house.client(deadline=GENEROUS)
        while not self.over.is_set():
            numbers = chance.sample(range(self.timeline.files), 3)
            asked = now()
            found = await client.get_context(map(self.timeline.key, numbers))
            told = now()
            self.rungs[found.source] += 1
            for number in numbers if found.source else ():
                node = found.get(self.timeline.key(number))
                if node is not None and not node.fresh:
                    self.rungs["not fresh"] += 1
                elif wrong := self.timeline.stale(number, node, asked, told):
                    self.wrong.append(f"{found.source}: {wrong}")
            await asyncio.sleep(0.01)


class Killing:
    """Starts daemons while files change, and kills each after a while that chance chooses."""

    def __init__(self, hubs: Hubs, timeline: Timeline, chance: random.Random) -> None:
        self.hubs = hubs
        self.timeline = timeline
        self.chance = chance
        self.answered = 0

    def run(self, kills: int, longest: float) -> None:
        for _ in range(kills):
            child = self.hubs.begin()
            if self.chance.random() < 0.5:
                self._edit_until_it_answers(child)
            until = time.monotonic() + self.chance.uniform(0.0, longest)
            while time.monotonic() < until:
                self._edit()
            self.answered += self._answers(child)
            self.hubs.kill(child)
            self._check_database()

    def _edit_until_it_answers(self, child: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + PATIENCE_S
        while not self._answers(child):
            assert child.poll() is None, "the daemon ended"
            assert time.monotonic() < until, "the daemon does not answer"
            self._edit()

    def _answers(self, child: "subprocess.Popen[bytes]") -> bool:
        """Whether it has read all files, and answers questions."""
        places = self.hubs.house.places
        if owner(places.lock) != child.pid:
            return False
        try:
            return ask(places, ChangedSince(generation=0)).ok
        except OutsideError:
            return False

    def _edit(self) -> None:
        for _ in range(self.chance.randint(1, 20)):
            number = self.chance.randrange(self.timeline.files)
            self.timeline.write(number, in_place=self.chance.random() < 0.5)
        time.sleep(0.01)

    def _check_database(self) -> None:
        db = self.hubs.house.places.db
        if not db.exists():
            return
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        view = open_snapshot(db)
        if view is not None:
            view.close()


def killed(kills: int, *, files: int, clients: int, longest: float) -> tuple[Killing, Asking]:
    over = threading.Event()
    with hubs() as some:
        timeline = Timeline(some.house.root, files)
        killing = Killing(some, timeline, random.Random(1))
        asking = Asking(some.house, timeline, over)
        failed: list[BaseException] = []

        def kill() -> None:
            try:
                killing.run(kills, longest)
            except BaseException as error:  # noqa: BLE001 (it is told by the test itself)
                failed.append(error)
            finally:
                over.set()

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            asking.run(clients)
        finally:
            thread.join()
        print(  # noqa: T201
            f"\n{kills} kills, of {killing.answered} daemons that could be asked: "
            f"{dict(asking.rungs)}"
        )
        assert not failed, failed
        assert not asking.wrong
        some.house.raised_to("sqlite")
        assert_right(some.house)
        return killing, asking


@pytest.mark.slow
def test_four_kills() -> None:
    _, asking = killed(4, files=20, clients=2, longest=1.0)
    assert asking.rungs["file"] + asking.rungs["sqlite"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_kills_while_it_indexes_and_while_clients_ask() -> None:
    killing, asking = killed(50, files=150, clients=6, longest=3.0)
    assert killing.answered > 5
    assert asking.rungs["socket"] > 0
    assert asking.rungs["sqlite"] > 0
    assert asking.rungs[None] == 0
