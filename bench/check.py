"""Wall time of `remora check` on one file, and of `ruff check` beside it.

The project has 40 files of 50 functions. One file is clean, and one has a finding that is fixed.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
_BIN = Path(sys.executable).parent
_FUNCTION = '\n\ndef function_{0}(value):\n    """Add {0}."""\n    return value + {0}\n'


def main() -> dict[str, float]:
    """Return the smallest times in seconds."""
    with tempfile.TemporaryDirectory(prefix="remora-check-") as folder:
        root = Path(folder)
        (root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F"]\n')
        code = '"""A module."""' + "".join(map(_FUNCTION.format, range(50)))
        for number in range(40):
            (root / f"module_{number}.py").write_text(code)
        (root / "wrong.py").write_text(f"import os\n{code}")
        seconds = _measured(root)
    for name, least in seconds.items():
        print(f"{name:<6} {least:6.2f} s   {least / seconds['ruff']:6.1f} x ruff")
    return {f"check_{name}_seconds": least for name, least in seconds.items()}


def _measured(root: Path) -> dict[str, float]:
    commands = {
        "ruff": "ruff check --no-cache module_0.py",
        "clean": "remora check module_0.py",
        "wrong": "remora check wrong.py",
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):  # in turn, so that a busy moment hits all of them
        for name, line in commands.items():
            taken[name].append(_run(root, *line.split()))
    return {name: min(times) for name, times in taken.items()}


def _run(root: Path, program: str, *words: str) -> float:
    """Return the seconds that a command took."""
    began = time.monotonic()
    line = [str(_BIN / program), *words]
    subprocess.run(line, cwd=root, check=False, capture_output=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
