"""What is read when, and by whom."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.updater import Updater
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from remora.hub.watch.watcher import SweepingWatcher


@pytest.mark.parametrize("becomes", ["pipe", "nothing"])
def test_a_large_file_that_became_something_else_is_left_to_the_next_look(
    tmp_path: Path, becomes: str
) -> None:
    root, path = tmp_path / "root", tmp_path / "root" / "a.py"
    root.mkdir()
    if becomes == "pipe":
        os.mkfifo(path)

    async def ask() -> dict[str, int]:
        members = Members(root)
        watcher = SweepingWatcher(note="")
        with HubStore(tmp_path / "db", root=root, clock=lambda: datetime.now(UTC)) as store:
            indexer = Indexer(root, store, members)
            upkeep = Updater(root, indexer, watcher, AnalysisPool({}), report=lambda *_: None)
            upkeep._send_to_child("a.py", 3)
            await upkeep.close()
            return upkeep.pending.first(1)

    assert asyncio.run(ask()) == {"a.py": 3}
