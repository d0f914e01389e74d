"""Many clients ask during changes: no error and no outdated answer."""

import asyncio
import random
import sys
import threading
import time
from collections import Counter

import pytest

from remora.hub.client import HubClient
from tests.hub.client.conftest import GENEROUS
from tests.hub.torture.daemons import Hubs, hubs
from tests.hub.torture.timeline import TARGET, Timeline, now, percentile


class Crowd:
    """Clients that ask until all files were written anew; what they were told that was wrong."""

    def __init__(self, hubs: Hubs, timeline: Timeline) -> None:
        self.timeline = timeline
        self.hubs = hubs
        self.wrong: list[str] = []
        self.seconds: list[float] = []
        self.counts: Counter[str] = Counter()
        self.over = threading.Event()

    def edit(self, rounds: int, pause: float) -> None:
        chance = random.Random(1)
        try:
            for _ in range(rounds):
                for number in chance.sample(range(self.timeline.files), self.timeline.files):
                    self.timeline.write(number, in_place=chance.random() < 0.5)
                    time.sleep(pause)
        finally:
            self.over.set()

    async def ask(self, clients: int) -> None:
        await asyncio.gather(*(self._one(seed) for seed in range(clients)))

    async def _one(self, seed: int) -> None:
        chance = random.Random(seed)
        client = self.hubs.house.client(deadline=GENEROUS)
        while not self.over.is_set():
            if chance.random() < 0.1:
                await self._ask_callers(client)
            else:
                await self._ask_nodes(client, chance)

    async def _ask_nodes(self, client: HubClient, chance: random.Random) -> None:
        numbers = chance.sample(range(self.timeline.files), 5)
        asked = now()
        found = await client.get_context([self.timeline.key(each) for each in numbers])
        told = now()
        self._note(asked, told, f"context, {found.source}")
        for number in numbers:
            node = found.get(self.timeline.key(number))
            if node is not None and not node.fresh:
                self.counts["not fresh"] += 1
            elif wrong := self.timeline.stale(number, node, asked, told):
                self.wrong.append(wrong)

    async def _ask_callers(self, client: HubClient) -> None:
        asked = now()
        said = await client.callers(TARGET)
        told = now()
        self._note(asked, told, "callers")
        if said is None or said["callers"] is None or not said["fresh"]:
            self.counts["callers not told, or not fresh"] += 1
        else:
            keys = [edge["key"] for edge in said["callers"]]
            self.wrong += self.timeline.stale_callers(keys, asked, told)

    def _note(self, asked: int, told: int, kind: str) -> None:
        self.counts[kind] += 1
        self.seconds.append((told - asked) / 1e9)


def crowd(kind: str, *, files: int, clients: int, rounds: int, pause: float) -> Crowd:
    with hubs() as some:
        timeline = Timeline(some.house.root, files)
        some.start(kind)
        one = Crowd(some, timeline)
        editor = threading.Thread(target=one.edit, args=(rounds, pause))
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.0002)  # or who asks hardly lets the editor write
        editor.start()
        try:
            asyncio.run(one.ask(clients))
        finally:
            editor.join()
            sys.setswitchinterval(before)
        p50, p99 = percentile(one.seconds, 0.5), percentile(one.seconds, 0.99)
        print(  # noqa: T201
            f"\n{clients} clients, {files} files written {rounds} times, {kind}: p50 {p50:.1f} ms, "
            f"p99 {p99:.1f} ms, {dict(one.counts)}"
        )
        return one


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pause", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["auto", "sweep"])
def test_thirty_two_clients_while_880_files_change(kind: str, pause: float) -> None:
    one = crowd(kind, files=880, clients=32, rounds=3 if pause else 10, pause=pause)
    assert not one.wrong
    assert one.counts["context, socket"] > 30
