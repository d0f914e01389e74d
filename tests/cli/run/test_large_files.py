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
SPARSE = {"huge.py": 2 << 30, "large.py": 300 * MIB, "untracked.bin": 200 * MIB}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [".gitignore", "ruff.toml", "remora.yaml"])
def test_large_files_are_not_held(poor: Remora, project: Path, settings: str) -> None:
    write(project, {"data.bin": b"\1" * (200 * MIB)})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "data")
    for name, size in {**SPARSE, settings: 300 * MIB}.items():
        with (project / name).open("wb") as file:
            file.truncate(size)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, sys.executable, "-m", "remora", "check", "-o", "lint"],
        cwd=project,
        env={**poor.environment, "REMORA_GATES__TIME_S": "0"},  # the project's own ruff reads all
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *lines, peak = done.stdout.splitlines()
    assert int(peak) <= LIMIT, f"{int(peak) / MIB:.0f} MiB"
    shown = "\n".join([*lines, done.stderr])
    if settings == ".gitignore":  # the others are errors
        assert "not checked: huge.py: 2,048.0 MiB, larger than" in shown
        assert "not checked: large.py: 300.0 MiB, larger than 1 MiB" in shown
