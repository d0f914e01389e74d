"""Daemons to start and kill in tests, each with a given watcher."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from remora.hub.store.owner_lock import owner
from tests.hub.client.conftest import House, ask, housed

PATIENCE_S = 40.0
_BEGIN = """
import sys
import remora.usecases.hub.run_daemon as wiring
from remora.cli.main import main
from remora.hub.watch.watcher import SweepingWatcher

if sys.argv.pop(1) == "sweep":
    wiring.open_watcher = lambda *_: SweepingWatcher(note="")
sys.exit(main())
"""


class Hubs:
    """The daemons of one house, one after the other; `end` leaves none behind."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.environ = dict(house.caller.environ)
        self._all: list[subprocess.Popen[bytes]] = []

    def begin(self, kind: str = "auto", *words: str) -> "subprocess.Popen[bytes]":
        """Start one, and do not wait."""
        command = ["hub", "start", "--foreground", "--root", str(self.house.root), *words]
        with (self.house.folder / f"said-{len(self._all)}").open("wb") as said:
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", _BEGIN, kind, *command],
                cwd="/",
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        self._all.append(child)
        return child

    def start(self, kind: str = "auto") -> "subprocess.Popen[bytes]":
        """Start one, and wait until its first answer."""
        child = self.begin(kind)
        until = time.monotonic() + PATIENCE_S
        client = self.house.client()
        key = "node:nothing.py:nothing"
        while ask(client, [key]).source != "socket":
            assert time.monotonic() < until, "the daemon does not answer"
            assert child.poll() is None, self.said(child)
            time.sleep(0.02)
        return child

    def said(self, child: "subprocess.Popen[bytes]") -> str:
        """What one told people."""
        return (self.house.folder / f"said-{self._all.index(child)}").read_text()

    def kill(self, child: "subprocess.Popen[bytes]") -> None:
        child.kill()
        child.wait()

    def end(self) -> None:
        for child in self._all:
            child.send_signal(signal.SIGCONT) if child.poll() is None else None
            child.kill()
            child.wait()
        pid = owner(self.house.places.lock)
        if pid:
            os.kill(pid, signal.SIGKILL)


@contextmanager
def hubs() -> Iterator[Hubs]:
    """Of an empty house."""
    with housed() as house:
        made = Hubs(house)
        try:
            yield made
        finally:
            made.end()
