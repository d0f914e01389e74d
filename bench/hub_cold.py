"""Cold start of the daemon: first answers about a project of 12,000 nodes without a database.

Each question is the first one of a fresh daemon: seconds from the question, which is asked as soon
as the daemon accepts connections, to the answer.
"""

import json
import os
import random
import shutil
import sysconfig
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hub_daemon import Line, hub

STDLIB = ("asyncio", "email", "logging")
DAEMONS = 8
TESTS = 20


def main() -> dict[str, float]:
    """Return p50 and p95 of the seconds to first answers."""
    callers: list[float] = []
    spent: list[float] = []
    with tempfile.TemporaryDirectory(prefix="rc-", ignore_cleanup_errors=True) as place:
        root = Path(place).resolve() / "project"
        _copy(root)
        keys: list[str] = []
        tests: list[float] = []
        nodes: list[float] = []
        for number in range(DAEMONS):
            folder = Path(place) / f"h{number}"
            folder.mkdir()
            with hub(folder, root, wait=False) as status:
                line = Line(status["socket"])
                key = keys[number] if keys else "node:networkx/utils/misc.py:flatten"
                callers.append(_ask(line, "callers", key))
                spent.append(_cpu_seconds(status["pid"]))
                if not keys:
                    found = _result(line, "search", query="networkx py", limit=10_000)["nodes"]
                    functions = [n["key"] for n in found if n["node_type"] == "function"]
                    keys = random.Random(5).sample(functions, DAEMONS + TESTS)
                    known = _result(line, "status")
                    print(f"{known['files']:,} files, {known['nodes']:,} nodes")
                if number == DAEMONS - 2:  # without stored links, of which there are none yet
                    tests = [_ask(line, "tests", key) for key in keys[DAEMONS:]]
                if number == DAEMONS - 1:
                    nodes = [_ask(line, "get_node", key) for key in keys[DAEMONS:]]
    print(f"CPU of the daemon until then, p50       {sorted(spent)[DAEMONS // 2]:5.2f} s")
    return _figures({"callers": (callers, 2), "tests": (tests, 5), "get_node": (nodes, 5)})


def _figures(measured: dict[str, tuple[list[float], int]]) -> dict[str, float]:
    """Print and return the p50 and p95 of each kind of question, given its seconds and aim."""
    figures: dict[str, float] = {}
    for name, (taken, aim) in measured.items():
        p50, p95 = (sorted(taken)[int((len(taken) - 1) * part)] for part in (0.5, 0.95))
        print(f"{name} after a cold start, p50 / p95  {p50:5.2f} / {p95:.2f} s  (aim {aim})")
        figures |= {f"{name}_cold_p50": p50, f"{name}_cold_p95": p95}
    return figures


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process: what the answer would take on an idle machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ask(line: Line, kind: str, key: str) -> float:
    began = time.perf_counter()
    while not (said := json.loads(line.ask(_line(kind, node=key))[1]))["ok"]:
        assert said["error"]["code"] == "busy", said
        time.sleep(0.05)
    return time.perf_counter() - began


def _result(line: Line, kind: str, **more: Any) -> Any:
    return json.loads(line.ask(_line(kind, **more))[1])["result"]


def _line(kind: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, **more}).encode() + b"\n"


def _copy(root: Path) -> None:
    skip = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so")
    spec = find_spec("networkx")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    shutil.copytree(spec.submodule_search_locations[0], root / "networkx", ignore=skip)
    for name in STDLIB:
        shutil.copytree(Path(sysconfig.get_path("stdlib")) / name, root / name, ignore=skip)


if __name__ == "__main__":
    main()
