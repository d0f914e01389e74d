"""What is read when, and by whom."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.updater import Updater
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from remora.hub.update_rules import KnownFile
from remora.hub.watch.factory import open_watcher


@pytest.mark.parametrize("becomes", ["pipe", "link", "nothing"])
def test_a_large_file_that_became_something_else_is_left_to_the_next_look(
    tmp_path: Path, becomes: str
) -> None:
    root, path = tmp_path / "root", tmp_path / "root" / "a.py"
    root.mkdir()
    if becomes == "pipe":
        os.mkfifo(path)
    elif becomes == "link":
        path.symlink_to("/dev/zero")

    async def ask() -> dict[str, int]:
        members = Members(root)
        watcher = open_watcher(root, members, marker=tmp_path / "marker", kind="sweep")
        with HubStore.open(tmp_path / "db", root=root, clock=lambda: datetime.now(UTC)) as store:
            indexer = Indexer(root, store, members, clock=lambda: datetime.now(UTC))
            upkeep = Updater(root, indexer, watcher, AnalysisPool({}), report=lambda *_: None)
            upkeep._send_to_child("a.py", 3)
            await upkeep.close()
            return upkeep.pending.first(1)

    assert asyncio.run(ask()) == {"a.py": 3}


@pytest.mark.parametrize(("changed", "by_scripts"), [(64, 64), (65, 0)])
def test_of_many_changed_files_the_last_ones_too_are_read_in_one_pass(
    tmp_path: Path, changed: int, by_scripts: int
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    paths = [f"m{number}.py" for number in range(changed)]
    for path in paths:
        (root / path).write_text("def f(): ...\n")
    scripted: list[str] = []

    def by_script(path: str, source: bytes, known: KnownFile) -> FileFacts:
        scripted.append(path)
        return read_facts(path, source)

    async def read_all() -> int:
        members = Members(root)
        watcher = open_watcher(root, members, marker=tmp_path / "marker", kind="sweep")
        with HubStore.open(tmp_path / "db", root=root, clock=lambda: datetime.now(UTC)) as store:
            indexer = Indexer(
                root, store, members, analyze=by_script, clock=lambda: datetime.now(UTC)
            )
            upkeep = Updater(root, indexer, watcher, AnalysisPool({}), report=lambda *_: None)
            upkeep._step()  # the first look at all files
            while upkeep.pending:
                upkeep._step()
            await upkeep.close()
            return len(store.files())

    assert asyncio.run(read_all()) == changed
    assert len(scripted) == by_scripts
