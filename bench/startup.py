"""CPU of whole `remora` processes, as ratios to a bare Python that does nothing.

A project with one planned run and a daemon is made first. CPU time, user and system: a busy machine
delays a process and hardly makes it work more.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 7
_REMORA = str(Path(sys.executable).with_name("remora"))
_FRONT = {"help": ("--help",), "version": ("--version",)}
_READ = {
    "runs": ("runs",),
    "show": ("show", "last"),
    "diff": ("diff", "last"),
    "agents_list": ("agents", "list"),
    "analyze_help": ("analyze", "--help"),
    "hub_get": ("hub", "get", "app.py:first"),
}
_COMPLETION = {"_REMORA_COMPLETE": "bash_complete", "COMP_WORDS": "remora show "}
_CODE = '"""A module."""\nimport os\n\n\ndef first():\n    """One."""\n    return 1\n'


def main() -> dict[str, float]:
    """Return the ratio of the smallest CPU times, by command."""
    with tempfile.TemporaryDirectory(prefix="remora-startup-") as folder:
        root = Path(folder)
        (root / "app.py").write_text(_CODE)
        _remora(root, "analyze", "-o", "lint")
        _remora(root, "hub", "start")
        try:
            found = _measured(root)
        finally:
            _remora(root, "hub", "stop")
    for name, ratio in found.items():
        aim = 4 if name in _FRONT else 12
        words = " ".join((_FRONT | _READ).get(name, ("completion",)))
        print(f"remora {words:<28} / python -c pass  {ratio:6.2f} x   (aim <= {aim})")
    return {f"{name}_over_bare_python": ratio for name, ratio in found.items()}


def _measured(root: Path) -> dict[str, float]:
    bare: list[float] = []
    taken: dict[str, list[float]] = {}
    for _ in range(RUNS):  # in turn, so that a busy moment hits all of them
        bare.append(_cpu(root, [sys.executable, "-c", "pass"]))
        for name, args in (_FRONT | _READ).items():
            taken.setdefault(name, []).append(_cpu(root, [_REMORA, *args]))
        asked = _cpu(root, [_REMORA], os.environ | _COMPLETION)
        taken.setdefault("completion", []).append(asked)
    return {name: min(seconds) / min(bare) for name, seconds in taken.items()}


def _cpu(root: Path, command: list[str], environ: dict[str, str] | None = None) -> float:
    """Return the seconds of CPU that a command took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=root, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _remora(root: Path, *args: str) -> None:
    subprocess.run([_REMORA, *args], cwd=root, check=True, capture_output=True)


if __name__ == "__main__":
    main()
