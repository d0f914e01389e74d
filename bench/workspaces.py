"""Private copies of 1,000 to 10,000 files: open, scan and reset, against copying all files."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from remora.files.project_files import ProjectFiles
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from remora.workspaces.copy.workspace import Workspace

SIZES = (1_000, 3_000, 10_000)
ROUNDS = 15
COPIES = 2
CHANGED = 3
_TEXT = "".join(f"def part_{n}(value):\n    return value + {n}\n\n\n" for n in range(60))
_A_TICK_S = 0.1


def main() -> dict[str, float]:
    """Return ratios at the largest size: cost of a job's copy and of a scan, to a new copy."""
    ratios: dict[str, float] = {}
    for size in SIZES:
        with TemporaryDirectory() as made:
            folder = Path(made)
            begun = time.perf_counter()
            base = _base(folder, size)
            frozen = time.perf_counter() - begun
            new_copy, plain = _new_copy(base, folder)
            print(
                f"{size:6,} files: base {frozen * 1000:6.0f} ms, a new copy {new_copy * 1000:6.0f} ms,"
            )
            print(f"    which is {new_copy / plain:.1f} x a plain copy of files")
            ratios = _slots(SlotDriver(base, folder / "slots"), new_copy)
    return ratios


def _new_copy(base: BaseSnapshot, folder: Path) -> tuple[float, float]:
    """Return the shortest times of a new copy and of a plain copy of the files."""
    ours, plain = [], []
    for number in range(COPIES):
        begun = time.perf_counter()
        with SlotDriver(base, folder / f"new-{number}").open():
            ours.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        shutil.copytree(base.folder, folder / f"plain-{number}")
        plain.append(time.perf_counter() - begun)
    return min(ours), min(plain)


def _base(folder: Path, size: int) -> BaseSnapshot:
    """Make a frozen base of files of 2,800 bytes, 50 in a folder."""
    paths = [f"pkg{number // 50}/m{number}.py" for number in range(size)]
    for path in paths:
        (folder / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "root" / path).write_text(_TEXT)
    files = ProjectFiles(paths=tuple(paths), commit=None, note="", skipped=())
    return take_base(folder / "root", files, folder / "base")


def _slots(driver: SlotDriver, new_copy: float) -> dict[str, float]:
    with driver.open() as workspace:
        time.sleep(_A_TICK_S)  # a status so young proves nothing: the first look would hash again
        workspace.snapshot()
        reset = _shortest(workspace.reset, lambda: _work(workspace))
        look = _shortest(workspace.snapshot)
        floor = _shortest(lambda: _stat_all(str(workspace.tree)))

    def opened() -> None:
        with driver.open():
            pass

    again = _shortest(opened, lambda: _work(workspace))
    _print_ratios(
        new_copy,
        {
            "reset after a job": reset,
            "opened again, whole": again,
            "a look for changes": look,
            "stat of each file": floor,
        },
    )
    return {
        "reset_to_copy_anew": reset / new_copy,
        "open_to_copy_anew": again / new_copy,
        "look_to_copy_anew": look / new_copy,
        "look_to_stat": look / floor,
    }


def _print_ratios(new_copy: float, taken: dict[str, float]) -> None:
    for name, seconds in taken.items():
        print(f"    {name:22} {seconds * 1000:7.2f} ms   1/{new_copy / seconds:.0f} of a new copy")


def _work(workspace: Workspace) -> None:
    """Leave what a job leaves: some changed files, a new one, a cache."""
    for number in range(CHANGED):
        (workspace.tree / f"pkg0/m{number}.py").write_text("changed = 1\n")
    (workspace.tree / "pkg0/new.py").write_text("new = 1\n")
    (workspace.tree / "pkg0/__pycache__").mkdir()
    (workspace.tree / "pkg0/__pycache__/m0.pyc").write_bytes(b"cache")


def _stat_all(tree: str) -> None:
    """Stat all files: the minimum to detect a change."""
    waiting = [tree]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)


def _shortest(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Return the shortest time, because the machine may be shared."""
    taken = []
    for _ in range(ROUNDS):
        before()
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


if __name__ == "__main__":
    main()
