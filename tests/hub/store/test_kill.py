"""kill -9 at any moment: what is there opens, is whole, and is brought up to date."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from tests.hub.index_check import verify

WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore

root, db = Path(sys.argv[1]), Path(sys.argv[2])
clock = lambda: datetime.now(UTC)
with HubStore(db, root=root, clock=clock) as store:
    indexer = Indexer(root, store, Members(root))
    number = 0
    while True:
        look = indexer.look()
        for path in sorted((*look.changed, *look.gone)):
            indexer.refresh([path], source="file_change")
        print("at", number, flush=True)
        for each in range(0, 40, 3):
            path = root / f"m{each}.py"
            if number % 4 == 3 and each % 2:
                path.unlink(missing_ok=True)
            else:
                path.write_text(f"import m{each + 1}\\ndef f{number}():\\n    return m{each + 1}.g({number})\\n")
        number += 1
"""


def now() -> datetime:
    return datetime.now(UTC)


def killed_at_work(root: Path, db: Path, after: float) -> None:
    command = [sys.executable, "-c", WRITER, str(root), str(db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            time.sleep(after)
        finally:
            process.send_signal(signal.SIGKILL)


def assert_whole(root: Path, db: Path, *, at_least: int) -> int:
    """The generation, after the index was brought up to date."""
    with HubStore(db, root=root, clock=now) as store:
        assert store.generation >= at_least
        indexer = Indexer(root, store, Members(root))
        look = indexer.look()
        done = indexer.refresh((*look.changed, *look.gone), source="file_change")
        assert not done.rebuilt
        assert verify(root, Members(root), store.view()).differences == ()
        generation = store.generation
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return generation


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_a_writer_that_is_killed_leaves_a_whole_database(tmp_path: Path, kills: int) -> None:
    root, db, chance = tmp_path / "project", tmp_path / "cache" / "hub.db", random.Random(7)
    root.mkdir()
    for number in range(40):
        (root / f"m{number}.py").write_text(f"def g(x):\n    return x + {number}\n")
    generation = 0
    for _ in range(kills):
        killed_at_work(root, db, chance.uniform(0, 0.15))
        generation = assert_whole(root, db, at_least=generation)
