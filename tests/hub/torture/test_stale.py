"""No answer of any source is stale after any change of files.

Writing through a memory map is left out: it is seen when the file is closed, or by the next sweep.
"""

import asyncio
import subprocess
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from remora.errors import NotFound
from remora.hub.client import Context, HubClient
from remora.hub.store.hub_store import HubStore
from remora.hub.store.reader import open_snapshot
from tests.hub.client.conftest import GENEROUS, now
from tests.hub.precomputed_links import link
from tests.hub.torture.daemons import Hubs, hubs
from tests.hub.torture.editing import Torture, plant
from tests.hub.torture.expected_facts import LINKS, Truth, differences, plain

NAMES = ("t", "s", "v", "__module__")
MODES = ("inotify", "sweep", "restarts", "sqlite", "file", "hasty")
"""A daemon with a watcher, without one, one that is killed and started in between; no daemon; no
database; a client that does not wait long."""


class Fuzz:
    """Edits a project, asks about it, and counts what came."""

    def __init__(self, hubs: Hubs, mode: str, seed: int, *, with_git: bool) -> None:
        self.mode = mode
        self.chance = Random(seed)
        self.house = hubs.house
        self.hubs = hubs
        self.house.root.rmdir()
        root, outside = plant(self.house.folder, with_git=with_git)
        self.editor = Torture(root, outside, self.chance, with_git=with_git)
        self.truth = Truth(root)
        self.counts: Counter[str] = Counter()
        hubs.environ["REMORA_HUB_QUIET"] = "0"  # links are found ahead between any two edits
        self.gone = ["a/a.py"]
        self.daemon: subprocess.Popen[bytes] | None = None
        self._raise()
        self.client = self.house.client(deadline=0.05 if mode == "hasty" else GENEROUS)

    def _raise(self) -> None:
        if self.mode in ("inotify", "restarts", "hasty"):
            self.daemon = self.hubs.start("auto")
        elif self.mode == "sweep":
            self.daemon = self.hubs.start("sweep")
        elif self.mode == "sqlite":
            self.house.index()

    async def run(self, edits: int, *, linked: float = 0.3) -> None:
        """Edit and ask. `linked` is the share of questions that wait for links found ahead."""
        self.linked = linked
        while self.editor.count < edits:
            done = [self.editor.make() for _ in range(self.chance.choice([1, 1, 1, 1, 2, 5]))]
            await self._disturb()
            await self._ask(done)

    async def _disturb(self) -> None:
        """The rungs themselves come and go."""
        if self.mode == "restarts" and self.chance.random() < 0.02:
            if self.daemon is None:
                self.daemon = await asyncio.to_thread(self.hubs.start)
            else:
                self.hubs.kill(self.daemon)
                self.daemon = None
        if self.mode == "sqlite" and self.chance.random() < 0.05:
            self.house.index()

    async def _linked(self) -> None:
        """What is asked next comes from rows, if that was not too much to find in a while."""
        if self.mode == "sqlite":
            self.house.index()
            with HubStore(self.house.places.db, root=self.house.root, clock=now) as store:
                link(store)
        for _ in range(300):
            if self._is_linked():
                self.counts["links ahead"] += 1
                return
            if self.daemon is None:
                return
            await asyncio.sleep(0.01)

    def _is_linked(self) -> bool:
        view = open_snapshot(self.house.places.db)
        if view is None:
            return False
        try:
            return view.links().stored("callees", "") is not None
        finally:
            view.close()

    def _keys(self) -> list[str]:
        paths = self.truth.paths
        chosen = self.chance.sample(paths, min(3, len(paths))) + self.chance.sample(self.gone, 1)
        return list(dict.fromkeys(f"node:{path}:{self.chance.choice(NAMES)}" for path in chosen))

    async def _ask(self, done: list[str]) -> None:
        before = self.truth.paths
        # those that were there are asked about first: nothing is looked at in between
        keys = self._keys()
        found = await self.client.get_context(keys)
        linked = await self._callers(self.client, keys[0])
        self.truth.look()
        self.gone = [*self.gone, *(path for path in before if path not in self.truth.paths)][-20:]
        self._check(keys, found, done)
        self._check_callers(keys[0], linked, done)
        if self.chance.random() < self.linked:
            await self._linked()
        more = self._keys()
        self._check(more, await self.client.get_context(more), done)
        path = self.chance.choice(self.truth.paths or ["a.py"])
        key = f"node:{path}:t"
        self._check_callers(key, await self._callers(self.client, key), done)

    @staticmethod
    async def _callers(client: HubClient, key: str) -> dict[str, Any] | NotFound | None:
        try:
            return await client.callers(key)
        except NotFound as unknown:
            return unknown

    def _check(self, keys: list[str], found: Context, done: list[str]) -> None:
        self.counts[f"asked, {found.source}"] += 1
        expected = self.truth.context(keys)
        seen = (self.mode, self.editor.count, done, keys)
        if found.source is None:
            assert self.mode == "hasty", seen
            return
        if any(not node.fresh for node in found.values()):
            self.counts["not fresh"] += 1
            return
        without = LINKS if found.source == "file" else ()
        if without:
            expected = {
                key: {name: value for name, value in node.items() if name not in without}
                for key, node in expected.items()
            }
        told_all = plain(found, without=without)
        if (
            self.mode == "hasty"
        ):  # tests that could not be found in time are null: not known, not wrong
            for key, node in told_all.items():
                if node.get("related_tests", ()) is None:
                    self.counts["without tests"] += 1
                    del node["related_tests"]
                    expected.get(key, {}).pop("related_tests", None)
        assert not differences(told_all, expected), seen
        hashes = self.truth.hashes()
        told = {key: node.source_hash for key, node in found.items() if key in hashes}
        assert told == {key: hashes[key] for key in keys if key in hashes}, seen

    def _check_callers(self, key: str, said: Any, done: list[str]) -> None:
        seen = (self.mode, self.editor.count, done, key)
        self.counts["links asked"] += 1
        if said is None:
            assert self.mode == "hasty", seen
            return
        if isinstance(said, NotFound):
            assert key not in self.truth.context([key]), seen
            return
        if said["callers"] is None:
            assert self.mode in ("file", "hasty"), seen
            return
        if not said["fresh"]:
            self.counts["not fresh"] += 1
            return
        expected = msgspec.to_builtins(self.truth.answers.callers(key))["callers"]
        assert said["callers"] == expected, seen
        path, _, name = key.removeprefix("node:").rpartition(":")
        if name == "t" and path in self.truth.texts:
            written = self.truth.callers(path)
            self.counts["callers written"] += len(written)
            assert written <= {edge["key"] for edge in said["callers"]}, seen


def fuzz(mode: str, edits: int, seed: int, *, with_git: bool, linked: float = 0.3) -> Counter[str]:
    with hubs() as some:
        one = Fuzz(some, mode, seed, with_git=with_git)
        asyncio.run(one.run(edits, linked=linked))
        print(f"\n{mode}, git {with_git}, {one.editor.count} edits: {dict(one.counts)}")  # noqa: T201
        return one.counts


@pytest.mark.parametrize("mode", ["inotify", "file"])
def test_a_few_edits(mode: str) -> None:
    assert fuzz(mode, 25, 1, with_git=mode == "inotify", linked=0)["links asked"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_some_edits(mode: str) -> None:
    counts = fuzz(mode, 20, 1, with_git=True)
    assert counts["not fresh"] < counts["links asked"]
    if mode != "file":
        assert counts["links ahead"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("with_git", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize("mode", MODES)
def test_ten_thousand_edits(mode: str, with_git: bool) -> None:
    counts = fuzz(mode, 850, 2, with_git=with_git)
    assert (
        counts["not fresh"] <= counts["links asked"] // 50
    )  # such an answer is honest, but no use
