"""Time of `remora analyze --changed` with all operations on one commit, against an aim of 60 s.

Usage: python bench/changed.py REPOSITORY COMMIT

The repository is cloned, and the commit is compared with its parent. Tests run with the active
environment. CPU time is that of all processes, user and system.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

OPERATIONS = ("lint", "docstring", "types", "test")
_REMORA = str(Path(sys.executable).with_name("remora"))
_AIM = 60


def main() -> dict[str, float]:
    """Return the seconds of one run, and its CPU seconds."""
    repository, commit = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="remora-changed-") as place:
        root = Path(place) / Path(repository).resolve().name
        _run(Path.cwd(), "git", "clone", "-q", repository, str(root))
        _run(root, "git", "checkout", "-q", commit)
        before, began = _cpu(), time.perf_counter()
        words = [word for name in OPERATIONS for word in ("-o", name)]
        done = _run(root, _REMORA, "analyze", "--changed=HEAD~1", "--yes", "--json", *words)
        wall, cpu = time.perf_counter() - began, _cpu() - before
    document = json.loads(done.stdout)
    jobs = Counter((job["operation"], job["status"]) for job in document["jobs"])
    for (operation, status), number in sorted(jobs.items()):
        print(f"{operation:<10} {status:<10} {number:4}")
    nodes = {node for job in document["jobs"] for node in job["nodes"] or [job["node_id"]]}
    print(f"{len(nodes)} nodes with jobs   {wall:6.1f} s   (aim {_AIM})   CPU {cpu:.1f} s")
    return {"changed_seconds": wall, "changed_cpu_seconds": cpu}


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words}: {done.stderr}")
    return done


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
