"""A process that accepts on disks with ever more room, none of which is quite enough.

    unshare -m python disk_child.py FOLDER SMALL KIND FIRST STEP

FOLDER holds `home` and `project`, and both again as they are before, `kept-home` and
`kept-project`. The disk at SMALL has room for FIRST pages (or names, by KIND: `pages`, `names`),
then for STEP more, until an accept succeeds; with KIND `limit` each file that the process writes
may have so many tenths of a KB. One JSON document says what was wrong, and how often it failed.
"""

import functools
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import RemoraError
from remora.runs.project import Project
from remora.runs.records.results import read_run
from remora.runs.records.run_listing import list_run_lines
from remora.runs.review.accept_and_reject import accept
from remora.runs.review.journals import complete_journals
from remora.trace.verify.folder_check import verify_all
from tests.step_lint.operations import OPERATIONS

PAGE = 4096
MOST = 400


class Disk:
    """A project with a small disk in it."""

    def __init__(self, folder: Path, small: Path, kind: str) -> None:
        self.folder, self.small, self.kind = folder, small, kind
        self.root = folder / "project"
        self.wrong: list[str] = []

    def project(self) -> Project:
        environ = {"HOME": str(self.folder / "home")}
        return open_project(
            Invocation(
                environ=environ,
                folder=self.root,
                root=self.root,
                flags={"runner.decisions": "model"},
                operations=OPERATIONS,
            )
        )

    def begin_again(self) -> None:
        for name in ("home", "project"):
            shutil.rmtree(self.folder / name)
            shutil.copytree(self.folder / f"kept-{name}", self.folder / name, symlinks=True)
        if self.kind != "limit":
            self.small.mkdir(parents=True, exist_ok=True)
            aside = self.folder / "aside"
            shutil.copytree(self.small, aside, symlinks=True)
            options = "size=16m,mode=700,nr_inodes=2000"
            run("mount", "-t", "tmpfs", "-o", options, "tmpfs", self.small)
            shutil.copytree(aside, self.small, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(aside)

    def fill(self, room: int) -> None:
        found = os.statvfs(self.small)
        if self.kind == "pages":
            with (self.small / "ballast").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(found.f_bavail - room, 0) * PAGE or 1)
        elif self.kind == "names":
            (self.small / "ballast").mkdir()
            for number in range(max(found.f_favail - room - 1, 0)):
                (self.small / "ballast" / str(number)).touch()

    def free(self) -> None:
        ballast = self.small / "ballast"
        if ballast.is_dir():
            shutil.rmtree(ballast)
        ballast.unlink(missing_ok=True)

    def fails(self, room: int) -> bool:
        """Whether an accept did not come to its end."""
        told = apart(lambda: self._accepted(room))
        if told is None or (told and (told["exit"] != 3 or not told["hint"])):
            self.wrong.append(f"room {room}: {told}")
        return bool(told != {})

    def _accepted(self, room: int) -> dict[str, Any]:
        if self.kind == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (room * 100, resource.RLIM_INFINITY))
        try:
            project = self.project()
            accept(project, list_run_lines(project.trace)[-1].run_id, [], every=True)
        except RemoraError as error:
            return {"exit": error.exit_code, "message": error.message, "hint": error.hint}
        except BaseException as error:  # noqa: BLE001 (an OSError must not come so far)
            return {"exit": repr(error), "hint": ""}
        return {}

    def texts(self) -> dict[str, str]:
        return {
            path.relative_to(self.root).as_posix(): path.read_text()
            for path in sorted(self.root.rglob("*.py"))
            if ".agentfs" not in path.parts
        }

    def look(self, room: int, old: dict[str, str], new: dict[str, str]) -> list[str]:
        """What does not hold and should, once there is room again."""
        self.wrong = []
        now = self.texts()
        if now.keys() != old.keys() or any(now[name] not in (old[name], new[name]) for name in now):
            self.wrong.append(f"room {room}: half a file before anything was freed")
        self.free()
        project = self.project()
        complete_journals(project)
        run_id = list_run_lines(project.trace)[-1].run_id
        for job in read_run(project, run_id).jobs:
            path = job.node_id.removeprefix("node:").partition(":")[0]
            wanted = new if job.review == "accepted" else old
            if self.texts()[path] != wanted[path]:
                self.wrong.append(f"room {room}: {path} is not as its review ({job.review}) says")
        accept(project, run_id, [], every=True)
        left = [str(path) for path in self.root.rglob("*.remora-*")]
        problems = [p.detail for s in verify_all(project.trace).streams for p in s.problems]
        if self.texts() != new or left or problems:
            self.wrong.append(f"room {room}: in the end {left} {problems} {self.texts() == new}")
        return self.wrong


# each in a process of its own: one that has threads cannot be forked any more
def apart(act: Callable[[], Any]) -> Any:
    """What a function returns in a process of its own; None where that died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            told = json.dumps(act())
        except RemoraError as error:
            told = json.dumps([f"cannot be gone on with: {error.message}"])
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return json.loads(told) if told else None


def run(*words: str | Path) -> None:
    subprocess.run(words, check=True)


def main(folder: str, small: str, kind: str, first: str, step: str) -> None:
    disk = Disk(Path(folder), Path(small), kind)
    disk.begin_again()
    old = disk.texts()
    assert not disk.fails(MOST)
    new = disk.texts()
    failed = 0
    for room in range(int(first), MOST, int(step)):
        if kind != "limit":
            run("umount", disk.small)
        disk.begin_again()
        disk.fill(room)
        if not disk.fails(room):
            break
        failed += 1
        found: Any = apart(functools.partial(disk.look, room, old, new))
        disk.wrong += [f"room {room}: looking died"] if found is None else found
    sys.stdout.write(json.dumps({"failed": failed, "wrong": disk.wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
