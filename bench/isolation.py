"""Isolation: the same commands at each level, as ratios to level 0."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.isolation import LEVEL_NAMES, best_level, level_problem
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command

RUNS = 15
_TEST = """
import time

import pytest


@pytest.mark.parametrize("n", range(200))
def test_it(n):
    assert sum(range(n)) == n * (n - 1) // 2


def test_longer():
    until = time.process_time() + 0.5
    while time.process_time() < until:
        pass
"""


def main() -> dict[str, float]:
    """Return ratios of the shortest times to level 0, by command and level, and print the probe's time."""
    begun = time.perf_counter()
    best = best_level()
    print(f"best level: L{best}; probe took {time.perf_counter() - begun:.3f} s")
    levels = [level for level in range(1, 4) if not level_problem(level)]
    ratios: dict[str, float] = {}
    with TemporaryDirectory() as made:
        folder = Path(made).resolve()
        (folder / "test_it.py").write_text(_TEST)
        ruff = Path(find_ruff_bin())
        python = interpreter_paths(Path(sys.executable), trusted=True)
        for name, command in {
            "true": _command(folder, ["/bin/true"], ()),
            "ruff": _command(folder, [str(ruff), "check", "--no-cache", "."], (ruff,)),
            "pytest": _command(folder, [sys.executable, "-m", "pytest", "-q"], python),
        }.items():
            seconds = _seconds(command, [0, *levels])
            print(f"{name}: L0 {seconds[0] * 1000:.1f} ms")
            for level in levels:
                ratio = ratios[f"{name} L{level}"] = seconds[level] / seconds[0]
                extra = (seconds[level] - seconds[0]) * 1000
                print(f"  L{level} ({LEVEL_NAMES[level]}): {ratio:.2f} x, {extra:+.1f} ms")
    return ratios


def _command(folder: Path, argv: Sequence[str], read: tuple[Path, ...]) -> Command:
    within = Confinement(read=read, scratch=(folder,))
    return Command(argv=tuple(argv), folder=folder, seconds=60, confinement=within)


def _seconds(command: Command, levels: Sequence[int]) -> dict[int, float]:
    """Return the shortest time per level; levels alternate, because the machine may be shared."""
    taken: dict[int, list[float]] = {level: [] for level in levels}
    for _ in range(RUNS):
        for level in levels:
            begun = time.perf_counter()
            done = run_command(command, level=level)
            taken[level].append(time.perf_counter() - begun)
            if done.returncode != 0:
                sys.exit(f"{command.argv[0]} ended with {done.returncode}: {done.stdout!r}")
    return {level: min(times) for level, times in taken.items()}


if __name__ == "__main__":
    main()
