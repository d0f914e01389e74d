"""Wall time of `remora check` on one file: alone, with a daemon, and of `ruff check` beside them.

The project has 40 files of 50 functions. One file is clean, and one has a finding that is fixed.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
_BIN = Path(sys.executable).parent
_FUNCTION = '\n\ndef function_{0}(value):\n    """Add {0}."""\n    return value + {0}\n'
_PATIENCE_S = 60.0


def main() -> dict[str, float]:
    """Return the smallest times in seconds, and their ratios to ruff."""
    with tempfile.TemporaryDirectory(prefix="remora-check-") as folder:
        root, runtime = Path(folder) / "project", Path(folder) / "run"
        root.mkdir()
        (root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F"]\n')
        code = '"""A module."""' + "".join(map(_FUNCTION.format, range(50)))
        for number in range(40):
            (root / f"module_{number}.py").write_text(code)
        (root / "wrong.py").write_text(f"import os\n{code}")
        served = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        _run(root, served, "remora", "hub", "start")
        try:
            _wait_for_process(root, served)
            seconds = _measured(root, served)
        finally:
            _run(root, served, "remora", "hub", "stop")
    for name, least in seconds.items():
        print(f"{name:<22} {least:6.2f} s   {least / seconds['ruff']:6.1f} x ruff")
    return {f"check_{name}_seconds": least for name, least in seconds.items()}


def _measured(root: Path, served: dict[str, str]) -> dict[str, float]:
    alone = {**served, "XDG_RUNTIME_DIR": str(root.parent / "nothing")}
    commands = {
        "ruff": (served, "ruff check --no-cache module_0.py"),
        "clean_alone": (alone, "remora check module_0.py"),
        "clean_with_daemon": (served, "remora check module_0.py"),
        "wrong_alone": (alone, "remora check wrong.py"),
        "wrong_with_daemon": (served, "remora check wrong.py"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):  # in turn, so that a busy moment hits all of them
        for name, (environ, line) in commands.items():
            taken[name].append(_run(root, environ, *line.split()))
    return {name: min(times) for name, times in taken.items()}


def _wait_for_process(root: Path, served: dict[str, str]) -> None:
    ask = "import sys; from remora.cli.warm.client import run_warm; sys.exit(run_warm(['check', '-q']) is None)"
    until = time.monotonic() + _PATIENCE_S
    while subprocess.run([sys.executable, "-c", ask], cwd=root, env=served, check=False).returncode:
        if time.monotonic() > until:
            raise TimeoutError("the daemon's process for checks did not answer")
        time.sleep(0.5)


def _run(root: Path, environ: dict[str, str], program: str, *words: str) -> float:
    """Return the seconds that a command took."""
    began = time.monotonic()
    line = [str(_BIN / program), *words]
    subprocess.run(line, cwd=root, env=environ, check=False, capture_output=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
