"""A daemon that was stopped while more happened than the kernel keeps knows all of it afterwards."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from remora.hub.members.members import Members
from tests.hub.client.conftest import ask
from tests.hub.torture.daemons import Hubs, hubs, watches


def planted(some: Hubs, files: int) -> "subprocess.Popen[bytes]":
    """A daemon of a project with ignored folders and a name that is not UTF-8."""
    house = some.house
    house.write({f"src/m{number}.py": "" for number in range(files)})
    house.write({os.fsdecode(b"src/\xe9\xff/\xe9.py"): "def f():\n    return 1\n"})
    house.write({"gen/deep/a.py": "", "node_modules/a/b.py": "", ".gitignore": "gen/\n"})
    subprocess.run(["git", "init", "-q", "."], cwd=house.root, check=True)
    return some.start()


def overflow(some: Hubs, child: "subprocess.Popen[bytes]", touches: int, new: int) -> list[str]:
    """Stop it, do all that, and let it go on; keys of what is new."""
    root = some.house.root
    there = sorted(path for path in (root / "src").iterdir() if path.suffix == ".py")
    child.send_signal(signal.SIGSTOP)
    for number in range(touches):
        os.utime(there[number % len(there)])
    for number in range(new):
        some.house.write({f"new/p{number % 50}/n{number}.py": f"def f{number}():\n    return 1\n"})
    child.send_signal(signal.SIGCONT)
    return [f"node:new/p{number % 50}/n{number}.py:f{number}" for number in range(new)]


def check(touches: int, new: int) -> None:
    with hubs() as some:
        child = planted(some, 100)
        client, root = some.house.client(), some.house.root
        keys = overflow(some, child, touches, new)
        found = ask(client, keys)
        assert found.source == "socket"
        assert set(found) == set(keys)
        assert all(node.fresh for node in found.values())
        # it still watches: also what is new, and names of any bytes
        odd = "node:src/%E9%FF/%E9.py:f"
        before = ask(client, [odd])[odd]
        some.house.write({os.fsdecode(b"src/\xe9\xff/\xe9.py"): "def f():\n    return 2\n"})
        some.house.write({"new/p0/n0.py": "def late():\n    return 1\n"})
        found = ask(client, [odd, "node:new/p0/n0.py:late", keys[0]])
        assert set(found) == {odd, "node:new/p0/n0.py:late"}
        assert found[odd].source_hash != before.source_hash
        folders = Members(root).survey().folders
        assert {"src", "new", "new/p0", ""} <= folders
        assert not {"gen", "gen/deep", "node_modules"} & folders
        assert watches(child.pid) == len(folders)
        assert _watcher(some) == "inotify"


def _watcher(some: Hubs) -> str:
    said = some.house.remora("hub", "status", "--json")
    return next(kind for kind in ("inotify", "sweep", "off") if f'"{kind}"' in said)


@pytest.mark.slow
def test_nothing_is_missing_after_a_pause() -> None:
    check(200, 60)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_is_missing_after_twenty_thousand_touches_and_500_new_files() -> None:
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    check(max(20_000, queue + 1000), 500)
