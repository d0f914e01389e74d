"""Nodes of a Ray cluster on this machine, each with an address and processes of its own."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

RAY = str(Path(sys.executable).with_name("ray"))
# Ray's own processes do not need the patch
_PATCH = """
import sys

if any(word.endswith("default_worker.py") for word in sys.orig_argv):
    exec(%r)
"""
_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    # a node that is silent for some seconds is dead
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "4",
}


class RayNode:
    """The processes of a node. It has the methods of a subprocess, for all of them."""

    def __init__(self, words: list[str], environ: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self._start = subprocess.Popen(
                [RAY, "start", "--block", "--disable-usage-stats", *words],
                env=dict(environ), stdout=file, stderr=file,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._start.pid

    def wait_until_started(self) -> None:
        """Two nodes that start at the same time can disturb each other."""
        end = time.monotonic() + 60
        while "Ray runtime started" not in self._log.read_text():
            assert self.poll() is None, self._log.read_text()[-3000:]
            assert time.monotonic() < end, self._log.read_text()[-3000:]
            time.sleep(0.1)

    def processes(self) -> dict[int, str]:
        """Return the command line of each process of this node. They share a session."""
        return dict(_processes(self._start.pid))

    def workers(self) -> list[int]:
        """Return the processes that run a shard."""
        return [pid for pid, words in self.processes().items() if "ray::run_on_node" in words]

    def raylet(self) -> int:
        """Return the process of the raylet."""
        (pid,) = (p for p, words in self.processes().items() if "/raylet " in words)
        return pid

    def send_signal(self, number: int) -> None:
        """Send SIGTERM to `ray start`, which drains the node, and other signals to all processes."""
        if number == signal.SIGTERM:
            self._start.terminate()
            return
        for pid in self.processes():  # as when a machine is stopped
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        end = time.monotonic() + 20
        while self.processes():
            self.send_signal(signal.SIGKILL)
            time.sleep(0.05)
            assert time.monotonic() < end, self.processes()
        self._start.wait()

    def poll(self) -> int | None:
        return self._start.poll()

    def wait(self, timeout: float | None = None) -> int:
        return self._start.wait(timeout)


class RayCluster:
    """A head without CPUs, which drivers use, and further nodes."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._tests = folder
        token = folder / "token"
        token.write_text(secrets.token_hex(32))
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # a short path: sockets
        self._count = 1
        self.settings = {**_SETTINGS, "RAY_AUTH_TOKEN_PATH": str(token)}
        self.head = self._start(
            ["--head", "--port=0", "--num-cpus=0", "--include-dashboard=false"], environ
        )
        self.address = self._find_address()
        self.settings["RAY_ADDRESS"] = self.address
        self._nodes: list[RayNode] = []

    def add_node(
        self, environ: Mapping[str, str], patch: str = "", resources: str = "{}"
    ) -> RayNode:
        """Start a node with two CPUs, whose workers run `patch` first."""
        self._count += 1
        found = dict(environ)
        if patch:
            place = self._tests / f"patch-{self._count}"
            place.mkdir()
            (place / "sitecustomize.py").write_text(_PATCH % patch)
            found["PYTHONPATH"] = str(place)
        words = [f"--address={self.address}", "--num-cpus=2", f"--resources={resources}"]
        node = self._start(words, found)
        self._nodes.append(node)
        return node

    def _start(self, words: list[str], environ: Mapping[str, str]) -> RayNode:
        place = ["--node-ip-address", f"127.0.0.{self._count}"]
        temp = [f"--temp-dir={self.folder}"] if self._count == 1 else []
        sizes = ["--object-store-memory=80000000"]
        log = self._tests / f"node-{self._count}.log"
        return RayNode([*words, *place, *temp, *sizes], {**environ, **self.settings}, log)

    def _find_address(self) -> str:
        self.head.wait_until_started()
        return (self.folder / "ray_current_cluster").read_text().strip()

    def remove_nodes(self) -> None:
        while self._nodes:
            self._nodes.pop().kill()

    def remove(self) -> None:
        self.remove_nodes()
        self.head.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _processes(session: int) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z" and int(fields[3]) == session:
                    words = (folder / "cmdline").read_bytes()
                    yield int(folder.name), words.replace(b"\0", b" ").decode()
