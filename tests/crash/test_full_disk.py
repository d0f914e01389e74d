"""An accept on a disk that is full at any step: nothing is half written, and it can be completed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.conftest import RULES, Desk, Kept

CHILD = Path(__file__).parent / "disk_child.py"
OLD = 'def load():\n    """Read."""\n    import re\n\n    return 1\n'
PLACES = {
    "all": "project",  # with its records, but not the journal: two disks
    "files": "project/src",
    "records": "project/.agentfs",
    "journal": "home/.local/state",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("full"))
    desk.write({"src/a.py": OLD, "src/b.py": OLD + "\n" * 9000, "ruff.toml": RULES})
    desk.analyze()
    desk.write({"src/a.py": OLD + "\n\nMINE = 1\n"})  # to be merged: there is more to be kept
    return Kept(desk)


def play(kept: Kept, place: str, kind: str, first: int, step: int) -> int:
    """How often an accept failed, and each time as it should."""
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this user may not mount")
    folder = kept.again().folder
    words = [folder, folder / PLACES[place], kind, first, step]
    done = subprocess.run(
        ["unshare", "-m", sys.executable, CHILD, *map(str, words)],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHILD.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    return int(told["failed"])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["pages", "names"])
@pytest.mark.parametrize("place", PLACES)
def test_any_number_of_pages_or_names_is_left(kept: Kept, place: str, kind: str) -> None:
    assert play(kept, place, kind, 0, 1) >= 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_file_may_grow_beyond_a_limit(kept: Kept) -> None:
    assert play(kept, "all", "limit", 1, 3) >= 10
