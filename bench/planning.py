"""Growth of planning with the project; jobs without a proposal, and expected durations against real.

Usage: python bench/planning.py [FOLDER...]

Without a folder, each operation plans generated projects of 5,000 and 50,000 files, each with one
documented function. Otherwise, each folder is a project. All operations run on a copy of it, one at a time, with the active
environment. A machine that does other work takes longer, so the CPU time is printed, too: that of
all processes, user and system. Reasons for jobs that are not planned are printed last.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

OPERATIONS = ("lint", "docstring", "types", "test")
_REMORA = str(Path(sys.executable).with_name("remora"))
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".agentfs", "__pycache__")
_AIM = 0.3
_FILES = (5_000, 50_000)
_FILES_OF_FOLDER = 100
_GROWTH_AIM = 12
_GROWING = '''def function_{0}(value):
    """Return the value, and {0}.

    Args:
        value: What is returned.
    """
    return value + {0}
'''


class Measured(NamedTuple):
    """One run. `expected`, `wall` and `cpu` are in seconds; `planning` is CPU of the plan alone."""

    jobs: int
    statuses: Counter[str]
    expected: float
    wall: float
    cpu: float
    planning: float
    why: list[str]
    left: dict[str, int]


def measure(source: Path, operation: str) -> Measured:
    """Plan and run one operation on a copy of a project."""
    with tempfile.TemporaryDirectory(prefix="remora-planning-") as place:
        root = Path(place).resolve() / source.name
        shutil.copytree(source, root, symlinks=True, ignore=_LEFT_OUT)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            _run(root, ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", *words])
        plan, _, _, planning = _remora(root, operation, "--dry-run")
        totals = plan["totals"]
        left = {reason: n for reasons in totals["left"].values() for reason, n in reasons.items()}
        if not plan["jobs"]:
            return Measured(0, Counter(), 0.0, 0.0, 0.0, planning, [], left)
        done, printed, wall, cpu = _remora(root, operation)
        return Measured(
            jobs=len(done["jobs"]),
            statuses=Counter(job["status"] for job in done["jobs"]),
            expected=_seconds(printed),
            wall=wall,
            cpu=cpu,
            planning=planning,
            why=[
                f"{job['status']} {job['node_id']}: {job['why'] or job['error']}"
                for job in done["jobs"]
                if job["status"] != "verified"
            ],
            left=left,
        )


def _remora(root: Path, operation: str, *more: str) -> tuple[Any, str, float, float]:
    """Return the JSON document, the messages, and the wall and CPU seconds of `analyze`."""
    before, began = _cpu(), time.perf_counter()
    done = _run(root, [_REMORA, "analyze", "-o", operation, "--yes", "--json", *more])
    if not done.stdout:
        raise RuntimeError(f"{root.name}: {operation}: {done.stderr}")
    taken = time.perf_counter() - began
    return json.loads(done.stdout), done.stderr, taken, _cpu() - before


def _run(root: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=root, env=os.environ, capture_output=True, text=True, check=False
    )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(printed: str) -> float:
    """Return the seconds of the expected duration that a run printed."""
    found = re.search(r": (?:about (\d+) (second|minute)|less than 10)", printed)
    if found is None:
        raise RuntimeError(f"no expected duration: {printed}")
    return 5.0 if found[1] is None else float(found[1]) * (60 if found[2] == "minute" else 1)


def main() -> dict[str, float]:
    """Return the CPU seconds of planning ten times as many files, as ratios, by operation."""
    figures: dict[str, float] = {}
    for operation in OPERATIONS:
        seconds = [_growing(number, operation) for number in _FILES]
        figures[f"planning {operation}: growth"] = ratio = seconds[1] / seconds[0]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        few, many = _FILES
        print(
            f"{operation:<10} {few:,} files {seconds[0]:.1f} s, {many:,} files {seconds[1]:.1f} s "
            f"of CPU: {ratio:.1f} times (aim {_GROWTH_AIM}); at most {peak:.0f} MB so far"
        )
    return figures


def _growing(number: int, operation: str) -> float:
    """Return the CPU seconds of planning an operation for a number of files."""
    with tempfile.TemporaryDirectory(prefix="remora-planning-") as place:
        root = Path(place).resolve()
        for each in range(number):
            folder = root / f"package_{each // _FILES_OF_FOLDER}"
            folder.mkdir(exist_ok=True)
            (folder / f"module_{each}.py").write_text(_GROWING.format(each))
        _run(root, ["git", "init", "-q"])
        return _remora(root, operation, "--dry-run")[3]


def compare(names: list[Path]) -> None:
    every: dict[str, list[Measured]] = {}
    left: Counter[tuple[str, str]] = Counter()
    print("| project | operation | jobs | proposals | expected, s | wall, s | CPU, s |")
    print("|---|---|---|---|---|---|---|")
    for source in names:
        for operation in OPERATIONS:
            try:
                found = measure(source, operation)
            except RuntimeError as error:
                print(f"| {source.name} | {operation} | {error} |", flush=True)
                continue
            every.setdefault(operation, []).append(found)
            left.update({(operation, reason): n for reason, n in found.left.items()})
            print(
                f"| {source.name} | {operation} | {found.jobs} | {found.statuses['verified']} "
                f"| {found.expected:.0f} | {found.wall:.1f} "
                f"| {found.cpu:.1f} (plan {found.planning:.1f}) |",
                flush=True,
            )
            for line in found.why:
                print(f"    {line}")
    for operation, runs in every.items():
        jobs = sum(each.jobs for each in runs)
        good = sum(each.statuses["verified"] for each in runs)
        ratios = sorted(each.wall / each.expected for each in runs if each.jobs)
        share = (jobs - good) / max(1, jobs)
        within = sum(0.5 <= each <= 2 for each in ratios)
        print(
            f"{operation:<10} {jobs:4} jobs, {share:4.0%} without a proposal (aim {_AIM:.0%}), "
            f"real/expected within a factor of two: {within} of {len(ratios)}"
        )
    for (operation, reason), number in sorted(left.items()):
        print(f"not planned: {operation}: {number} {reason}")


if __name__ == "__main__":
    if sys.argv[1:]:
        compare([Path(each).resolve() for each in sys.argv[1:]])
    else:
        main()
