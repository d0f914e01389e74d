"""CPU and wall time of `remora analyze -o lint` on a package of 600 findings, as ratios to ruff.

The package is Remora's own source with a wide rule set, cut off after about 600 findings. Both
commands fix the same copy of it. CPU time is that of all processes, user and system.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ruff import find_ruff_bin  # type: ignore[import-untyped]

_SOURCE = Path(__file__).parent.parent / "src" / "remora"
_RULES = '"ALL"'
_FINDINGS = 600
_RUNS = 3
_AIM = 30
_SECONDS = 20
_REMORA = str(Path(sys.executable).with_name("remora"))


def main() -> dict[str, float]:
    """Return the ratios of the shortest times."""
    with tempfile.TemporaryDirectory(prefix="remora-lint-") as folder:
        package = Path(folder) / "package"
        found = make_package(package)
        ruff = _shortest(package, [str(find_ruff_bin()), "check", "--fix", "--no-cache", "-q", "."])
        remora = _shortest(package, [_REMORA, "analyze", "-o", "lint", "--yes"])
    ratios = {"wall": remora[0] / ruff[0], "cpu": remora[1] / ruff[1]}
    print(f"findings {found}   remora {remora[0]:6.2f} s   (aim <= {_SECONDS} s)")
    for name, ratio in ratios.items():
        print(f"remora analyze / ruff check --fix, {name:<5} {ratio:7.1f} x   (aim <= {_AIM})")
    return {f"lint_{name}_over_ruff": ratio for name, ratio in ratios.items()}


def make_package(package: Path) -> int:
    """Copy source files into a package until there are enough findings. Return their number."""
    package.mkdir()
    settings = f"line-length = 80\nlint.select = [{_RULES}]\n"
    (package / "ruff.toml").write_text(settings)
    found = 0
    for number, path in enumerate(sorted(_SOURCE.rglob("*.py"))):
        if found >= _FINDINGS:
            break
        copy = package / f"module_{number}.py"
        shutil.copy(path, copy)
        words = ["check", "--no-cache", "-q", "--exit-zero", "--output-format", "json", copy.name]
        checked = _run(package, [str(find_ruff_bin()), *words])
        found += len(json.loads(checked.stdout))
    return found


def _shortest(package: Path, command: Sequence[str]) -> tuple[float, float]:
    """Return the shortest wall time and CPU time in seconds, each on a new copy of the package."""
    taken: list[tuple[float, float]] = []
    for _ in range(_RUNS):
        with tempfile.TemporaryDirectory(prefix="remora-lint-") as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(package, copy)
            before, start = _cpu(), time.monotonic()
            _run(copy, command)
            taken.append((time.monotonic() - start, _cpu() - before))
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def _run(folder: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # gates have their own time
    environ = {**os.environ, "HOME": str(folder.parent), "REMORA_GATES__TIME_S": "0"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
