"""Hub daemon: answers against a bare echo, time from a save to a fresh row, memory.

Ratios and milliseconds of one run, on parts of the standard library or on a copy of FOLDER, the
only argument; memory on the standard library. The comparison needs watchfiles.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROUNDS = 2000
EDITS = 60
ASKED_S = 120
ECHO = """
import asyncio, sys

class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.transport.write(data)

async def main():
    server = await asyncio.get_running_loop().create_unix_server(Echo, sys.argv[1])
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
WATCH = """
import sys, time, watchfiles
print("ready", flush=True)
for changes in watchfiles.watch(sys.argv[1]):
    for _, path in changes:
        if path.endswith(".py"):
            print(time.monotonic_ns(), flush=True)
            break
"""


class Line:
    """Connection for one request line and answer at a time."""

    def __init__(self, path: Path | str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def ask(self, line: bytes) -> tuple[float, bytes]:
        """Return milliseconds and the answer."""
        began = time.perf_counter()
        self.socket.sendall(line)
        answer = self.file.readline()
        return (time.perf_counter() - began) * 1000, answer


@contextmanager
def hub(folder: Path, root: Path, *, wait: bool = True, **more: str) -> Iterator[dict[str, Any]]:
    """Run a separate daemon. With `wait`, it has read all files."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        **more,
    }
    words = [sys.executable, "-m", "remora", "hub"]
    said = subprocess.run(
        [*words, "start", "--json", "--root", str(root)],
        env=environ,
        check=True,
        capture_output=True,
    )
    status = json.loads(said.stdout)
    try:
        line = Line(status["socket"])
        while (
            wait and not json.loads(line.ask(b'{"type":"changed_since","generation":0}\n')[1])["ok"]
        ):
            time.sleep(0.05)
        yield status
    finally:
        os.kill(status["pid"], signal.SIGTERM)


@contextmanager
def process(source: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a script and wait until it prints `ready`."""
    command = [sys.executable, "-c", source, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child
        finally:
            child.terminate()


def answers(folder: Path, status: dict[str, Any], keys: list[str]) -> dict[str, float]:
    """Measure `get_context` and `callers` against an echo of the same size."""
    line = Line(status["socket"])
    contexts = [_line("get_context", nodes=[key]) for key in keys]
    callers = [_line("callers", node=key) for key in keys]
    first_calls = [line.ask(one)[0] for one in callers]
    first = [line.ask(one) for one in contexts]
    typical = int(statistics.median(len(answer) for _, answer in first))
    with process(ECHO, str(folder / "echo.sock")):
        echo = Line(folder / "echo.sock")
        payload = b"x" * typical + b"\n"
        bare, asked, called = [], [], []
        for number in range(ROUNDS):  # in turn, so that a busy moment hits all
            bare.append(echo.ask(payload)[0])
            asked.append(line.ask(contexts[number % len(keys)])[0])
            called.append(line.ask(callers[number % len(keys)])[0])
    socket_ms = statistics.median(bare)
    ratio = statistics.median(asked) / socket_ms
    beyond = [statistics.median(called) - socket_ms, _p(called, 0.99) - _p(bare, 0.99)]
    print(f"get_context / echo, p50              {ratio:6.2f} x   (aim <= 2.5)")
    for name, taken in (("callers", first_calls), ("get_context", [ms for ms, _ in first])):
        p50, p95 = statistics.median(taken), _p(taken, 0.95)
        print(f"  first {name} per node, p50 / p95   {p50:6.2f} / {p95:.2f} ms (p95 <= 25)")
    print(f"callers beyond the echo, p50 / p99   {beyond[0]:6.2f} / {beyond[1]:.2f} ms (0.1 / 5)")
    return {"get_context_over_echo": ratio, "callers_p50": beyond[0], "callers_p99": beyond[1]}


def saves(root: Path, status: dict[str, Any]) -> dict[str, float]:
    """Measure from a save to the fresh row for a database reader, against watchfiles' defaults."""
    path = root / "bench_saved.py"
    reader = sqlite3.connect(f"file:{status['db']}?mode=ro", uri=True, isolation_level=None)
    taken, heard = [], []
    peer = process(WATCH, str(root)) if find_spec("watchfiles") else nullcontext()
    with peer as watching:
        told: list[int] = []
        output: Iterable[str] = watching.stdout if watching and watching.stdout else ()
        threading.Thread(target=lambda: told.extend(map(int, output)), daemon=True).start()
        for number in range(EDITS):
            path.write_text(f"def saved_{number}(): return {number}\n")
            began, before = time.monotonic_ns(), len(told)
            key = f"node:bench_saved.py:saved_{number}"
            while not reader.execute("SELECT 1 FROM node_state WHERE key = ?", (key,)).fetchone():
                time.sleep(0.0005)
            taken.append((time.monotonic_ns() - began) / 1e6)
            until = time.monotonic() + (5 if watching else 0)
            while len(told) == before and time.monotonic() < until:
                time.sleep(0.001)
            heard += [(each - began) / 1e6 for each in told[before : before + 1]]
            time.sleep(0.1)
    row = _p(taken, 0.95)
    print(f"save to fresh row, p95               {row:6.1f} ms  (aim <= 25)")
    print(f"  p50                                {statistics.median(taken):6.1f} ms")
    if not heard:
        print("  watchfiles is not installed: not compared")
        return {"save_to_row_p95_ms": row}
    default = _p(heard, 0.95)
    print(f"  event from watchfiles' defaults      {default:4.1f} ms: {default / row:.1f} x (>= 4)")
    return {"save_to_row_p95_ms": row, "watchfiles_over_hub": default / row}


def memory(folder: Path) -> dict[str, float]:
    """Of the daemon, and with its children (resident, what they share counted for each), at most,
    while it is asked right after it has read the standard library, before links are found."""
    root = folder / "stdlib"
    skip = shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.a")
    shutil.copytree(sysconfig.get_path("stdlib"), root, ignore=skip)
    with hub(folder, root, REMORA_HUB_QUIET="3600") as status:
        line = Line(status["socket"])
        alone = whole = answered = 0.0
        until = time.monotonic() + ASKED_S
        for key in _keys(status, 200):
            said = json.loads(line.ask(_line("get_context", nodes=[key]))[1])
            answered += said["ok"]
            used = _resident(status["pid"])
            alone, whole = max(alone, used[0]), max(whole, sum(used))
            if time.monotonic() > until:
                break
        known = json.loads(line.ask(b'{"type":"status"}\n')[1])["result"]
    print(f"memory on {known['files']:,} files of the stdlib   {alone:6.0f} MB  (aim <= 250)")
    print(f"  with its children                  {whole:6.0f} MB  ({answered:.0f} answered)")
    return {"memory_mb": alone, "memory_with_children_mb": whole}


def _resident(pid: int) -> list[float]:
    """Return resident memory of a process and of its children, in MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = []
    for each in (pid, *children):
        try:
            pages = int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except OSError:  # it has ended
            continue
        found.append(pages * os.sysconf("SC_PAGESIZE") / 1e6)
    return found


def main() -> dict[str, float]:
    """Run all measurements."""
    with tempfile.TemporaryDirectory(prefix="rb-", ignore_cleanup_errors=True) as place:
        folder, root = Path(place), Path(place) / "project"
        if sys.argv[1:]:
            shutil.copytree(sys.argv[1], root)
        else:
            shutil.copytree(Path(asyncio.__file__).parents[1] / "email", root / "email")
            shutil.copytree(Path(asyncio.__file__).parent, root / "asyncio")
        with hub(folder, root, REMORA_HUB_QUIET="0") as status:
            _wait_for_links(status)
            figures = answers(folder, status, _keys(status, 400)) | saves(root, status)
        return figures | memory(folder)


def _wait_for_links(status: dict[str, Any]) -> None:
    with sqlite3.connect(f"file:{status['db']}?mode=ro", uri=True) as reader:
        while not reader.execute("SELECT 1 FROM meta WHERE name = 'links_of'").fetchone():
            time.sleep(0.2)


def _keys(status: dict[str, Any], count: int) -> list[str]:
    with sqlite3.connect(f"file:{status['db']}?mode=ro", uri=True) as reader:
        rows = reader.execute("SELECT key FROM node_state ORDER BY source_hash LIMIT ?", (count,))
        return [key for (key,) in rows]


def _line(kind: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, **more}).encode() + b"\n"


def _p(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


if __name__ == "__main__":
    main()
