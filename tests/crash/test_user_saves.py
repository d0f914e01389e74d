"""A user saves constantly during runs and accepts: each last save is kept, merged or a conflict."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from remora.runs.review.journals import complete_journals
from tests.crash.conftest import start
from tests.crash.test_disks_and_writers import remora
from tests.crash.user_child import BASE
from tests.runs.conftest import RULES, Desk

USER = Path(__file__).parent / "user_child.py"
NAMES = [f"part{n}/m.py" for n in range(4)]
_IMPORT = re.compile(rb"^[ \t]+import re\r?\n", re.MULTILINE)


class AtWork:
    """The user's process, and ours beside it."""

    def __init__(self, desk: Desk, seed: int, what: str) -> None:
        self.desk, self.stop = desk, desk.folder / "stop"
        words = [desk.root, seed, self.stop, what, *NAMES]
        self.user = subprocess.Popen(
            [sys.executable, USER, *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        self.said = ""

    def analyzes(self) -> None:
        child = start(self.desk, "analyze", 10**9)
        child.communicate(timeout=200)
        assert child.returncode == 0

    def accepts(self, times: int) -> None:
        for _ in range(times):
            done = remora(self.desk, "accept", "last", "--all")
            assert done.code in (0, 1), done.err
            self.said += json.dumps(done.document)

    def rests(self) -> str:
        self.stop.touch()
        out, _ = self.user.communicate(timeout=200)
        assert self.user.returncode == 0
        return out

    def looks(self) -> None:
        """What holds for the records, whatever the user did."""
        assert complete_journals(self.desk.project).outcome == "none"
        left = [path.name for path in self.desk.root.rglob("*.remora-*")]
        assert [name for name in left if name not in self.said] == [], "left untold"
        assert self.desk.problems() == []

    def end(self) -> None:
        self.user.kill()
        self.user.communicate()


def changed(text: bytes) -> bytes:
    """What an accepted change makes of it."""
    return _IMPORT.sub(b"", text)


def stands(file: Path, last: str | list[str] | None) -> bool:
    if last is None:
        return not file.exists() and not file.is_symlink()
    if isinstance(last, list):
        return str(file.readlink()) in last if file.is_symlink() else file.is_dir() and not last
    text = last.encode()
    return file.is_file() and file.read_bytes() in (text, changed(text))


def saves(desk: Desk, seed: int, times: int) -> None:
    desk.write(dict.fromkeys(NAMES, BASE.format(0)) | {"ruff.toml": RULES})
    desk.analyze()
    work = AtWork(desk, seed, "save")
    try:
        work.accepts(times)
        work.analyzes()
        work.accepts(times)
        last = json.loads(work.rests())
        work.accepts(1)
    finally:
        work.end()
    wrong = {name: last[name] for name in NAMES if not stands(desk.root / name, last[name])}
    there = {
        name: (desk.root / name).read_bytes() for name in wrong if (desk.root / name).is_file()
    }
    assert wrong == {}, f"seed {seed}: there is {there}"
    work.looks()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("turn", range(12))
def test_the_last_save_of_the_user_is_kept_in_any_order(turn: int, desk: Desk) -> None:
    saves(desk, random.SystemRandom().randrange(10**6), 8)


def switches(desk: Desk, times: int) -> None:
    desk.write(dict.fromkeys(NAMES, BASE.format(0)) | {"ruff.toml": RULES})
    desk.commit()
    desk.git("switch", "-q", "-c", "other")
    desk.write(dict.fromkeys(NAMES, BASE.format(1)))
    desk.commit()
    desk.git("switch", "-q", "main")
    desk.analyze()
    work = AtWork(desk, 0, "switch")
    try:
        work.accepts(times)
        work.analyzes()
        work.accepts(times)
        work.rests()
    finally:
        work.end()
    for name in NAMES:
        committed = desk.git("show", f"HEAD:{name}").encode() + b"\n"
        assert (desk.root / name).read_bytes() in (committed, changed(committed))
    assert desk.git("show", f"main:{NAMES[0]}") + "\n" == BASE.format(0)
    work.looks()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("turn", range(4))
def test_who_switches_branches_without_rest(turn: int, desk: Desk) -> None:
    switches(desk, 12)
