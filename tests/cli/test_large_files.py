"""Files whose size a project chooses cost no memory, and what is left out has its true reason.

The project's own checks are another matter: they read what they want.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, write

MIB = 1 << 20
LIMIT = 150 * MIB
"""Bytes that the largest process of a command may have."""
MEASURE = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
)
"""Started in between, because a process begins with the memory of the one that starts it."""


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def run(remora: Remora, *args: str, cwd: Path) -> str:
    """Return the output of a command, after checking the memory of its processes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, sys.executable, "-m", "remora", *args],
        cwd=cwd,
        env=remora.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *lines, peak = done.stdout.splitlines()
    assert int(peak) <= LIMIT, f"{int(peak) / MIB:.0f} MiB"
    return "\n".join([*lines, done.stderr])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("check",), ("analyze",), ("analyze", "--dry-run")], ids=" ".join
)
def test_large_files_are_not_held(poor: Remora, project: Path, words: tuple[str, ...]) -> None:
    write(project, {"data.bin": b"\1" * (200 * MIB)})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "data")
    with (project / "data.bin").open("ab") as file:
        file.write(b"more")
    sparse(project / "huge.py", 2 << 30)
    sparse(project / "large.py", 300 * MIB)
    sparse(project / "untracked.bin", 200 * MIB)
    write(project, {"remora.yaml": "gates:\n  time_s: 0\n"})  # the project's own ruff reads all
    shown = run(poor, *words, "-o", "lint", cwd=project)
    assert "not checked: huge.py: 2,048.0 MiB, larger than" in shown
    assert "not checked: large.py: 300.0 MiB, larger than 1 MiB" in shown


@pytest.mark.slow
def test_a_run_is_resumed_without_holding_large_files(poor: Remora, project: Path) -> None:
    write(project, {"data.bin": b"\1" * (200 * MIB)})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "data")
    sparse(project / "untracked.bin", 200 * MIB)
    run(poor, "analyze", "-o", "steps", cwd=project)
    forked = poor("trace", "fork", "read", "--turn", "1", cwd=project)
    assert forked.code == 0, forked.err
    assert "1 of" in run(poor, "analyze", "--resume", "last", cwd=project)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [".gitignore", ".gitattributes", "pyproject.toml", "ruff.toml", "remora.yaml"]
)
def test_a_large_settings_file_is_not_held(poor: Remora, project: Path, name: str) -> None:
    sparse(project / name, 300 * MIB)
    run(poor, "check", cwd=project)
    run(poor, "runs", cwd=project)


@pytest.mark.slow
def test_settings_that_are_not_copied_are_named(poor: Remora, project: Path) -> None:
    sparse(project / "ruff.toml", 2 << 30)
    shown = run(poor, "analyze", "--dry-run", "-o", "lint", cwd=project)
    assert "not checked: ruff.toml: 2,048.0 MiB, larger than" in shown


@pytest.mark.slow
def test_a_large_file_in_the_place_of_a_changed_one_is_a_conflict(
    poor: Remora, project: Path
) -> None:
    assert poor("analyze", "-o", "lint", cwd=project).code == 0
    sparse(project / "src/settings.py", 300 * MIB)
    shown = run(poor, "accept", "last", "--all", cwd=project)
    assert "src/settings.py: 300.0 MiB, larger than 16 MiB" in shown
