"""The Hub's commands on trees that are odd, or that mean harm: nothing is run, believed or written."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, write

SOURCE = "def a():\n    return b()\n\n\ndef b():\n    pass\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return write(tmp_path / "shop", {"a.py": SOURCE})


def seen(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything in a folder, with the time of its last change and its inode."""
    places = [folder, *folder.rglob("*")]
    found = {place: place.lstat() for place in places}
    return {str(place): (about.st_mtime_ns, about.st_ino) for place, about in found.items()}


@pytest.mark.slow
def test_gits_index_is_read_and_never_locked(poor: Remora, shop: Path) -> None:
    for said in ("init -q", "add -A", "commit -q -m one"):
        git(shop, *said.split())
    os.utime(shop / "a.py", (1, 1))  # git would like to write down what it sees now
    (shop / ".git/index.lock").write_text("an operation under way")
    before = seen(shop / ".git")
    for words in (("index",), ("get", "a.py:b"), ("callers", "a.py:b"), ("verify",)):
        done = poor("hub", *words, "--json", cwd=shop)
        assert done.code == 0, done.err
    assert seen(shop / ".git") == before
