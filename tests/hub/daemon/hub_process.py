"""A user's hub as its users have it: processes, with folders of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.bootstrap.invocation import Invocation
from remora.errors import RemoraError
from remora.hub.process import control
from remora.usecases.hub.start_daemon import start_hub
from remora.usecases.hub.target import HubTarget, hub_paths_of
from tests.hub.conftest import Client
from tests.platform_facilities import PASSED_ON

PATIENCE_S = 20.0


def wait_until(true: Callable[[], object], why: str = "") -> None:
    """Wait for a condition, generously: others use this machine too."""
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until, f"waited {PATIENCE_S:.0f} s {why}"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, though nobody may have asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Hub:
    """One project and the commands about its hub. `end` leaves no process behind."""

    def __init__(self, home: Path, root: Path, **environ: str) -> None:
        self.root = root
        self.home = home
        root.mkdir(exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **PASSED_ON,
            **environ,
        }
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def caller(self) -> Invocation:
        """Who asks."""
        return Invocation(environ=self.environ, folder=self.home, root=self.root)

    def begun(self, **wish: Any) -> Any:
        """Start the daemon, or join it; its status."""
        return msgspec.to_builtins(start_hub(self.caller, HubTarget(**wish)))

    def status(self, **wish: Any) -> Any:
        return msgspec.to_builtins(control.status(hub_paths_of(self.caller, HubTarget(**wish))))

    def stop(self, **wish: Any) -> int | None:
        return control.stop(hub_paths_of(self.caller, HubTarget(**wish)))

    def refused(self, **wish: Any) -> RemoraError:
        """Why it does not start."""
        with pytest.raises(RemoraError) as caught:
            self.begun(**wish)
        assert self.status()["running"] is False
        return caught.value

    def begin(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command and leave it running."""
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "remora", "hub", *words, "--root", str(self.root)],
            env=self.environ,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._children.append(child)
        return child

    def start(self, **wish: Any) -> Any:
        """Start the daemon, and wait until it has read all files."""
        status = self.begun(**wish)
        self.wait_ready(Path(status["socket"]))
        return status

    def wait_ready(self, socket: Path) -> None:
        with Client(socket) as client:
            wait_until(lambda: client.ask("changed_since", generation=0)["ok"], "for the index")

    @property
    def socket(self) -> Path:
        return next((self.home / "run" / "remora" / "hub").glob("*.sock"))

    @property
    def cache(self) -> Path:
        return next((self.home / "cache" / "remora" / "hub").iterdir())

    @property
    def log(self) -> str:
        return (self.cache / "hub.db.log").read_text()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def end(self) -> None:
        """Whatever still runs is killed."""
        for child in self._children:
            child.kill()
            child.communicate()
        for lock in (self.home / "cache" / "remora" / "hub").glob("*/hub.db.daemon"):
            said = lock.read_text().partition(" ")[0]
            if said.isdigit() and not is_gone(int(said)) and self._is_ours(int(said)):
                os.kill(int(said), signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        """A number may belong to another process by now."""
        try:
            return str(self.root).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
