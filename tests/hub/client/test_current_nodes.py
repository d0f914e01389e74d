"""Questions about the files as they are now, beside what is stored of them."""

import os
import time
from pathlib import Path

from remora.config.user_folders import UserFolders
from remora.hub.file_limits import FileRules
from remora.hub.file_stamp import stamp_of
from remora.hub.process.hub_paths import hub_paths
from remora.hub.sources.current_nodes import CurrentNodes
from remora.hub.store.batch import Batch
from remora.hub.store.hub_store import HubStore
from tests.clock import ticking
from tests.hub.store.conftest import update_of

TEST = "node:tests/test_price.py:test_total"
BEFORE, NOW = "def f(): ...\n", "def g(): ...\n"


def test_a_change_within_one_tick_of_the_file_systems_clock_is_seen(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    folders = UserFolders(tmp_path, tmp_path, tmp_path, tmp_path)
    places = hub_paths(folders, root, db=tmp_path / "db" / "hub.db")
    (root / "a.py").write_text(NOW)
    ahead = time.time_ns() + 3600 * 10**9  # as young as can be, however slow this machine is
    os.utime(root / "a.py", ns=(ahead, ahead))
    stamp = stamp_of(os.lstat(root / "a.py"))
    with HubStore(places.db, root=root, clock=ticking()) as store:
        store.apply(Batch(updates=(update_of("a.py", BEFORE, stamp),), source="cold_start"))
    newest = CurrentNodes(places.root, places.db, FileRules())
    assert "node:a.py:g" in tuple(newest.keys())
