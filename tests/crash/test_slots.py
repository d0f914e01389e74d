"""kill -9 while a private copy is brought to the base: the next one who opens it finds the base."""

import os
import shutil
from pathlib import Path, PurePath

import pytest

from remora.files.project_files import project_files
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from tests.crash.conftest import run
from tests.forked_process import warm
from tests.runs.conftest import SHOP, Desk

CHILD = Path(__file__).parent / "slot_child.py"
PARTS = 12
"""At how many places, evenly from the first step to the last, a process is killed."""


def written(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def one(tmp_path: Path) -> BaseSnapshot:
    files = {f"pkg{n}/m.py": f"a = {n}\n" for n in range(6)} | {"same.py": "same\n", "deep": "x\n"}
    root = written(tmp_path / "one", files)
    return take_base(root, project_files(root), tmp_path / "base-one")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another project: files with other content, a folder for a file and a file for a folder."""
    files = {f"pkg{n}/m.py": f"b = {n}\n" for n in range(3)} | {"same.py": "same\n"}
    return written(tmp_path / "other", files | {"deep/er/x.py": "x\n", "pkg5": "a file\n"})


def used(base: BaseSnapshot, slots: Path) -> Path:
    """A copy that a job has worked in."""
    with SlotDriver(base, slots).open() as workspace:
        (workspace.tree / "pkg0/m.py").write_text("a job was here\n")
        (workspace.tree / "left/behind").mkdir(parents=True)
        (workspace.tree / "left/behind/x.py").write_text("x\n")
        (workspace.tree / "same.py").unlink()
        return workspace.tree


def killed(other: Path, slots: Path, steps: int) -> int | None:
    """How many steps it made, None if it was killed."""
    frozen, said = slots.parent / "base-other", slots.parent / "said"
    shutil.rmtree(frozen, ignore_errors=True)
    line = [str(word) for word in (CHILD, other, frozen, slots, steps)]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    status = warm().run(line, cwd=other, environ=environ, out=said, err=slots.parent / "err")
    assert status in (0, -9), (slots.parent / "err").read_text()
    return int(said.read_text()) if status == 0 else None


def held(base: BaseSnapshot, slots: Path) -> None:
    """The first copy is free, and its files are those of the base, no more and no less."""
    with SlotDriver(base, slots).open() as workspace:
        assert workspace.tree.name == "slot-0"
        found = {
            str(path.relative_to(workspace.tree)): path.read_bytes()
            for path in workspace.tree.rglob("*")
            if path.is_file()
        }
        assert found == {path: base.read(path) for path in base.files}
        folders = (path for path in workspace.tree.rglob("*") if path.is_dir())
        needed = {above for path in base.files for above in PurePath(path).parents}
        assert {path.relative_to(workspace.tree) for path in folders} == needed - {PurePath()}


@pytest.mark.slow
@pytest.mark.parametrize("first", ["made anew", "used before"])
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_step(
    one: BaseSnapshot, other: Path, tmp_path: Path, first: str, part: int
) -> None:
    slots = tmp_path / "slots"
    if first == "used before":
        used(one, slots)
    steps = killed(other, slots, 10**9)
    assert steps is not None
    assert steps > PARTS
    shutil.rmtree(slots)
    if first == "used before":
        used(one, slots)
    assert killed(other, slots, 1 + part * (steps - 1) // PARTS) is None
    held(one, slots)


def test_the_frozen_copy_of_a_killed_run_goes_with_a_later_one(desk: Desk) -> None:
    desk.write(SHOP)
    status, (run_id,) = run(desk, "analyze", 5)
    assert status == -9
    bases = desk.project.cache / "bases"
    assert [place.name for place in bases.iterdir()] == [run_id]
    desk.analyze()
    assert [place.name for place in bases.iterdir()] == [run_id], "nobody knows yet that it is over"
    hours_ago = bases.stat().st_mtime - 7200
    os.utime(bases / run_id, (hours_ago, hours_ago))
    desk.analyze()
    assert list(bases.iterdir()) == []
    slots = [path for path in (desk.project.cache / "slots").iterdir() if path.is_dir()]
    # Two workers. A process that is starting holds the lock of a closed slot until its exec.
    assert len(slots) <= 3, "later runs use the slots of earlier ones"
