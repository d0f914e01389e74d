"""A process that writes streams on a disk that fails, and tells what it was told is safe.

    python faults.py ROOT CALL ERRNO EVERY

Each EVERY-th call of `os.CALL` fails with ERRNO: a `write` with half of it done, a sync so that
the pages are lost although memory still shows them. In the end the power fails: what was not
synced is gone. One JSON document says what happened.
"""

import errno
import json
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from remora.errors import RemoraError, StreamWriteFailed
from remora.memory.events import ContextUpdate, JobEnd
from remora.runs.project import Project
from remora.runs.records.run_stream import open_run
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter

IDENTITY = Identity("run-1", "lint-crash", "lint", "node:a.py:f")
TURNS = 30
CALLS = ("write", "fdatasync", "fsync", "ftruncate", "rename", "open")
Place = tuple[int, int]


class Disk:
    """Stands between Python and the system."""

    def __init__(self, call: str, number: int, every: int) -> None:
        self.real = {name: getattr(os, name) for name in (*CALLS, "replace", "posix_fadvise")}
        self.call = call
        self.number = number
        self.every = every
        self.calls = self.fired = 0
        self.safe: dict[Place, int] = {}  # bytes that were synced
        self.lost: dict[Place, list[tuple[int, int]]] = {}  # memory alone still shows them
        self.armed = False
        self.lock = threading.Lock()

    def install(self) -> None:
        for name in (*CALLS, "replace", "posix_fadvise"):
            setattr(os, name, getattr(self, name))

    def fails(self, call: str) -> bool:
        if not self.armed or call != self.call:
            return False
        with self.lock:
            self.calls += 1
            fires = self.calls % self.every == 0
            self.fired += fires
        return fires

    def error(self) -> OSError:
        return OSError(self.number, os.strerror(self.number))

    def write(self, file: int, data: bytes) -> int:
        wanted = bytes(data)
        # that a write fails is what makes the product cut back at all
        cuts = self.armed and self.call == "ftruncate" and wanted[-3:] == b'"}\n'
        cuts = cuts and len(wanted) % 3 == 0
        if self.fails("write") or cuts:
            done: int = self.real["write"](file, wanted[: len(wanted) // 2])
            if self.number == errno.ENOSPC and done:
                return done  # so the system tells of a full disk
            raise self.error()
        return cast(int, self.real["write"](file, wanted))

    def fdatasync(self, file: int) -> None:
        self.sync(file, fails=self.fails("fdatasync"))

    def fsync(self, file: int) -> None:
        self.sync(file, fails=self.fails("fsync"))

    def sync(self, file: int, *, fails: bool) -> None:
        status = os.fstat(file)
        place = (status.st_dev, status.st_ino)
        if stat.S_ISREG(status.st_mode):
            if fails:
                self.lost.setdefault(place, []).append((self.safe.get(place, 0), status.st_size))
            self.safe[place] = status.st_size
        if fails:
            raise self.error()

    def ftruncate(self, file: int, size: int) -> None:
        if self.fails("ftruncate"):
            raise self.error()
        self.real["ftruncate"](file, size)
        place = self.place(file)
        self.safe[place] = min(size, self.safe.get(place, 0))
        self.lost[place] = [(a, min(b, size)) for a, b in self.lost.get(place, []) if a < size]

    def rename(self, *args: Any, **kwargs: Any) -> None:
        if self.fails("rename"):
            raise self.error()
        self.real["rename"](*args, **kwargs)

    def replace(self, *args: Any, **kwargs: Any) -> None:
        if self.fails("rename"):
            raise self.error()
        self.real["replace"](*args, **kwargs)

    def open(self, *args: Any, **kwargs: Any) -> int:
        if self.fails("open"):
            raise self.error()
        file: int = self.real["open"](*args, **kwargs)
        if any(isinstance(flags, int) and flags & os.O_TRUNC for flags in args[1:]):
            place = self.place(file)
            self.safe.pop(place, None)
            self.lost.pop(place, None)
        return file

    def posix_fadvise(self, file: int, *_: object) -> None:
        """What memory alone still showed is read from the disk again."""
        self.show_losses(self.place(file), f"/proc/self/fd/{file}")

    def place(self, file: int) -> Place:
        status = os.fstat(file)
        return status.st_dev, status.st_ino

    def show_losses(self, place: Place, name: str) -> None:
        for start, end in self.lost.pop(place, []):
            written = self.real["open"](name, os.O_WRONLY)
            os.pwrite(written, b"\0" * (end - start), start)
            os.close(written)

    def fail_power(self, root: Path) -> None:
        self.armed = False
        for path in root.rglob("*"):
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            place = (status.st_dev, status.st_ino)
            self.show_losses(place, os.fspath(path))
            if path.parent.name in ("traces", "runs") or path.parent.parent.name in (
                "blobs",
                "objects",
            ):
                os.truncate(path, min(status.st_size, self.safe.get(place, 0)))


class Work:
    """Turns of an agent and its run, gone on with whatever fails."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = TraceFolder(root).agent_stream(IDENTITY.agent_id)
        self.appended: list[str] = []
        self.safe: dict[int, str] = {}
        self.of_run: dict[int, str] = {}
        self.wrong: list[str] = []
        self.errors: dict[str, int] = {}

    def attempt(self, act: Callable[..., None], *args: Any) -> None:
        try:
            act(*args)
        except (OSError, RemoraError) as error:
            kind = type(error).__name__
            self.errors[kind] = self.errors.get(kind, 0) + 1
            if isinstance(error, OSError):
                self.wrong.append(f"an error of the system came through: {error!r}")

    def turn(self, number: int) -> None:
        folder = TraceFolder(self.root)
        mine: dict[int, str] = {}
        with open_emitter(
            self.path, IDENTITY, blobs=folder.blobs, objects=folder.objects
        ) as writer:
            for step in range(1 + number % 4):
                self.attempt(self.append, folder, writer, (number, step), mine)
            writer.end_turn()
            self.safe |= mine

    def append(
        self,
        folder: TraceFolder,
        writer: JsonlEventEmitter,
        at: tuple[int, int],
        mine: dict[int, str],
    ) -> None:
        number, step = at
        value = [f"{number}:" + "x" * (20 * step + (number + step) % 3 // 2 * 70_000)]
        value.append(folder.objects.put(value[0][:9].encode()))
        size = self.path.stat().st_size
        try:
            event = writer.emit(ContextUpdate(source="hub", value=value), turn=number)
        except StreamWriteFailed as error:
            if (
                self.path.stat().st_size != size
                and "truncating the file failed" not in error.message
            ):
                self.wrong.append(f"turn {number}: the stream is not as it was before")
            raise
        self.appended.append(event.hash)
        mine[event.seq] = event.hash

    def run_turn(self, number: int) -> None:
        trace = TraceFolder(self.root)
        parts = {
            "trace": trace,
            "open_store": lambda: JsonlTraceStore(trace.path),
            "state": self.root / "state",
        }
        with open_run(cast(Project, SimpleNamespace(**parts)), IDENTITY.run_id) as stream:
            for _ in range(2):
                event = stream.append(
                    JobEnd(
                        agent_id=IDENTITY.agent_id,
                        operation="lint",
                        node_id=IDENTITY.node_id,
                        status="submitted",
                        head=stream.head,
                    )
                )
                self.of_run[event.seq] = event.hash


def main(root: str, call: str, name: str, every: str) -> None:
    disk = Disk(call, getattr(errno, name), int(every))
    work = Work(Path(root))
    TraceFolder(work.root).create()
    disk.install()
    disk.armed = True
    for number in range(TURNS):
        work.attempt(work.turn, number)
        work.attempt(work.run_turn, number)
    there = work.path.read_bytes() if work.path.exists() else b""
    unwritten = [digest for digest in work.appended if digest.encode() not in there]
    disk.fail_power(work.root)
    told = {"fired": disk.fired, "errors": work.errors, "wrong": work.wrong, "unwritten": unwritten}
    sys.stdout.write(json.dumps(told | {"safe": work.safe, "of_run": work.of_run}))


if __name__ == "__main__":
    main(*sys.argv[1:])
