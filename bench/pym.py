"""Warm run of a `.pym` script, against a bare Python start."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from remora.pym import load_source
from remora.tools.host.text_files import read_text
from remora.tools.host_functions import HostFunction
from remora.tools.tool import Tool, run_tool
from remora.tools.tree import ToolTree

RUNS = 200
STARTS = 15
SCRIPT = """
from remora.pym import Input, external

path: str = Input("path")


@external
def read_text(path: str) -> str: ...


{"result": len(read_text(path)), "summary": "read"}
"""


def main() -> dict[str, float]:
    """Return ratios of medians: a run with one host call, and a load with its checks, to `python -c pass`."""
    clock = datetime(2026, 1, 1, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as made:
        Path(made, "a.py").write_text("x = 1\n")
        tree = ToolTree(Path(made))
        script = load_source(SCRIPT, name="bench")
        grants = (HostFunction(function=read_text),)
        tool = Tool(name="bench", description="", script=script, grants=grants)

        def run() -> None:
            ran = run_tool(tool, {"path": "a.py"}, tree, clock=clock, seed=0)
            assert ran.error_kind is None

        run()  # the worker is warm now
        bare, runs, loads = [], [], []
        for _ in range(STARTS):  # in turn, so that a busy moment hits all
            bare.append(_seconds(_start_python))
            runs += [_seconds(run) for _ in range(RUNS // STARTS)]
            loads.append(_seconds(lambda: load_source(SCRIPT, name="bench")))
    start, ran, loaded = map(statistics.median, (bare, runs, loads))
    print(
        f"python -c pass / a warm run          {start / ran:6.1f} x   (aim >= 20)   {ran * 1e3:.2f} ms"
    )
    print(
        f"python -c pass / a load with checks  {start / loaded:6.1f} x                 {loaded * 1e3:.2f} ms"
    )
    return {"warm_run_over_bare_python": ran / start, "load_over_bare_python": loaded / start}


def _start_python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
