"""`remora analyze` of a real package with 1, 2 and 4 workers, with an instant model."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from instant_model import instant_model

PACKAGE = "h11"
WORKERS = (1, 2, 4)
ROUNDS = 2
OPERATIONS = {
    "lint": (("lint",), 30),
    "docstring": (("docstring",), 56),
    "test": (("test",), 15),
    "all": (("lint", "docstring", "test"), 12),
}
"""By name: what is done, and to how many nodes at most."""
_SETTINGS = """\
[tool.ruff]
target-version = "py311"
[tool.ruff.lint]
select = ["E", "F", "W", "I", "UP", "B", "SIM", "C4", "RET", "PIE"]
[tool.pytest.ini_options]
pythonpath = ["src"]
"""


class Spent:
    """Wall time and CPU time of a command."""

    def __init__(self, command: list[str], root: Path, environ: dict[str, str]) -> None:
        begun = time.perf_counter()
        with subprocess.Popen(
            command, cwd=root, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as child:
            assert child.stderr
            said = child.stderr.read()
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.perf_counter() - begun
        self.cpu = used.ru_utime + used.ru_stime
        if child.returncode not in (0, 1):  # a job that comes to nothing is no fault here
            sys.exit(f"{' '.join(command)}: {said.decode()}")


def main() -> dict[str, float]:
    """Return ratios of the shortest times: one worker to four."""
    ratios: dict[str, float] = {}
    with _project() as (root, environ), instant_model() as address:
        environ |= {
            "REMORA_MODEL__BASE_URL": address,
            "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000",
        }
        for name, (operations, most) in OPERATIONS.items():
            best = _best(root, environ, operations, most)
            ratios[f"{name}_one_to_four_workers"] = best[1].wall / best[4].wall
            told = "; ".join(
                f"{n} workers {spent.wall:5.2f} s ({spent.cpu:5.2f} s of processors)"
                for n, spent in best.items()
            )
            ratio = ratios[f"{name}_one_to_four_workers"]
            print(f"{name:9} {told}; 1 to 4: {ratio:.2f} x  (aim >= 1.6)", flush=True)
    return ratios


def _best(
    root: Path, environ: dict[str, str], operations: tuple[str, ...], most: int
) -> dict[int, Spent]:
    """Return the shortest of each; they alternate, so a busy moment affects all, after a warm-up."""
    best: dict[int, Spent] = {}
    words = ["--quiet", "--unsafe-fixes", f"--max-nodes={most}"]
    words += [f"--operation={operation}" for operation in operations]
    command = [sys.executable, "-m", "remora", "analyze", ".", *words]
    Spent([*command, f"--concurrency={max(WORKERS)}"], root, environ)
    for _ in range(ROUNDS):
        for workers in WORKERS:
            spent = Spent([*command, f"--concurrency={workers}"], root, environ)
            if workers not in best or spent.wall < best[workers].wall:
                best[workers] = spent
    return best


@contextmanager
def _project() -> Iterator[tuple[Path, dict[str, str]]]:
    """Return a copy of the package under version control, with its own home folder."""
    spec = find_spec(PACKAGE)
    assert spec
    assert spec.submodule_search_locations
    with TemporaryDirectory() as made:
        root = Path(made, "project")
        source = spec.submodule_search_locations[0]
        shutil.copytree(
            source, root / "src" / PACKAGE, ignore=shutil.ignore_patterns("__pycache__")
        )
        (root / "pyproject.toml").write_text(_SETTINGS)
        for words in ("init -q", "add -A", "-c user.name=b -c user.email=b@localhost commit -qm a"):
            subprocess.run(["git", *words.split()], cwd=root, check=True)
        environ = {**os.environ, "HOME": made, "VIRTUAL_ENV": sys.prefix}
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            environ.pop(name, None)
        yield root, environ


if __name__ == "__main__":
    main()
