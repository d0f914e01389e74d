"""The Hub's commands on trees that are odd, or that mean harm: nothing is run, believed or written."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, command, git, write

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


BREAKS = """import sys


class Breaks:
    def find_spec(self, name, path=None, target=None):
        if name == "tree_sitter_python":
            raise ImportError("tree_sitter_python: its files are damaged")


sys.meta_path.insert(0, Breaks())
"""


@pytest.mark.slow
@pytest.mark.parametrize("foreground", [(), ("--foreground",)])
def test_a_broken_package_is_reported_with_the_repair_command(
    poor: Remora, shop: Path, tmp_path: Path, foreground: tuple[str, ...]
) -> None:
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = home / "lib" / version / "site-packages"
    (packages / "breaks.py").write_text(BREAKS)
    ours = Path(__file__).resolve().parents[2] / "src"
    places = [ours, *(place for place in sys.path if place.endswith("-packages"))]
    (packages / "a.pth").write_text("".join(f"{place}\n" for place in places) + "import breaks\n")
    words = [str(home / "bin/python"), *command(("hub", "start", "--json", *foreground))[1:]]
    done = subprocess.run(
        words, cwd=shop, env=poor.environment, capture_output=True, timeout=50, check=False
    )
    assert done.returncode == 3, done.stderr
    error = json.loads(done.stdout)["error"]
    assert "its files are damaged" in error["message"]
    assert "reinstall Remora" in error["hint"]
