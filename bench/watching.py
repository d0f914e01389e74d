"""Time from a save to its event, against watchfiles' defaults; cost of a sweep, against bare stats."""

import os
import select
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import watchfiles

from remora.hub.members.members import Members
from remora.hub.watch.watcher import Watcher, open_watcher

FILES = 885
SAVES = 60
ROUNDS = 15


def main() -> dict[str, float]:
    """Return milliseconds at the 95th percentile and ratios, all in one tree in one run."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        _plant(root)
        time.sleep(2.1)  # of what is younger, not even the stamp is believed
        members = Members(root)
        watcher = open_watcher(root, members)
        try:
            watcher.drain()
            ours = _p95(lambda path: _drained(watcher, path), root)
            quiet = _median(watcher.drain)
        finally:
            watcher.close()
        theirs = _p95_of_watchfiles(root)
        sweep, bare = _in_turns(members.sweep, lambda: _bare(str(root)))
    print(f"save -> drained, p95                {ours * 1e3:8.2f} ms")
    print(f"save -> told by watchfiles, p95     {theirs * 1e3:8.2f} ms   {theirs / ours:.0f} x")
    print(f"drain when nothing happened         {quiet * 1e6:8.1f} us")
    print(
        f"sweep of {FILES} files                 {sweep * 1e3:8.2f} ms   {sweep / bare:.2f} x bare"
    )
    return {"watchfiles_over_ours": theirs / ours, "sweep_over_bare": sweep / bare}


def _plant(root: Path) -> None:
    for number in range(FILES):
        folder = root / f"pkg{number % 40}/sub{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"m{number}.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)


def _p95(save: Callable[[Path], float], root: Path) -> float:
    files = sorted(root.rglob("*.py"))[:SAVES]
    times = sorted(save(path) for path in files)
    return times[int(len(times) * 0.95) - 1]


def _save(path: Path) -> None:
    """Save as most editors do: write a new file and rename it over the old one."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(f"x = {time.monotonic_ns()}\n")
    temporary.replace(path)


def _drained(watcher: Watcher, path: Path) -> float:
    _save(path)
    began = time.perf_counter()
    readable = watcher.fileno() or -1
    while not any(name.endswith(path.name) for name in watcher.drain().paths):
        select.select([readable], [], [], 5)
    return time.perf_counter() - began


def _p95_of_watchfiles(root: Path) -> float:
    told: dict[str, float] = {}
    came, ended = threading.Condition(), threading.Event()

    def listen() -> None:
        for changes in watchfiles.watch(root, stop_event=ended, raise_interrupt=False):
            with came:
                told.update(dict.fromkeys((path for _, path in changes), time.perf_counter()))
                came.notify_all()

    def until_told(path: Path) -> float:
        _save(path)
        began = time.perf_counter()
        with came:
            while str(path) not in told and came.wait(5):
                pass
        return told.pop(str(path), began + 5) - began

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        time.sleep(1)  # it says nowhere when it has begun to listen
        return _p95(until_told, root)
    finally:
        ended.set()
        thread.join()


def _bare(top: str) -> int:
    """Do the minimum of any sweep."""
    found, waiting = 0, [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(".py"):
                    entry.stat(follow_symlinks=False)
                    found += 1
    return found


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return clock() - began


def _median(work: Callable[[], object]) -> float:
    return statistics.median(_seconds(work) for _ in range(ROUNDS))


def _in_turns(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Return CPU time of each; they alternate."""
    pairs = [
        (_seconds(one, time.process_time), _seconds(other, time.process_time))
        for _ in range(ROUNDS)
    ]
    ones, others = zip(*pairs, strict=True)
    return statistics.median(ones), statistics.median(others)


if __name__ == "__main__":
    main()
