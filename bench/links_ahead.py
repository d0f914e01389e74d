"""Links computed ahead: their cost, and the cost of a question with them.

Over the socket of a daemon on an installed package, against an echo; rounds run in this process.
"""

import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from remora.hub.daemon.link_round import begin_round, find_links
from remora.hub.store.hub_store import HubStore

sys.path.insert(0, str(Path(__file__).parent))
from hub_daemon import ECHO, Line, hub, process
from hub_index import SLICE, corpora, opened, project

ASKED = 300
EDITED = ("added", b"\n\ndef added():\n    return 1\n"), ("body", b"\n    return len(str(1))\n")


def main() -> dict[str, float]:
    """Run all measurements."""
    place = corpora().get("networkx", corpora()["stdlib"])
    with project(place) as root:
        figures = _rounds(root)
    with (
        project(place) as root,
        tempfile.TemporaryDirectory(prefix="rb-") as short,
        hub(Path(short), root) as status,
    ):
        return figures | _asked(Path(short), root, status)


def _rounds(root: Path) -> dict[str, float]:
    """Measure CPU of a first round, and of rounds after edits of a widely and a rarely used file."""
    with opened(root) as (store, indexer):
        paths = indexer.look().changed
        began = time.process_time()
        for first in range(0, len(paths), SLICE):
            indexer.refresh(paths[first : first + SLICE], source="cold_start")
        cold, size = time.process_time() - began, _size(store)
        spent, nodes = _round(store)
        figures = {"links_over_index": spent / cold, "links_size": _size(store) / size}
        print(f"{len(paths)} files, {nodes} nodes: index {cold:.1f} s CPU, {size / 1e6:.0f} MB")
        print(f"all links / cold index               {spent / cold:6.2f} x   ({spent:.1f} s CPU)")
        print(f"database with links / without        {_size(store) / size:6.2f} x")
        by_size = sorted(paths, key=lambda path: (root / path).stat().st_size)
        for part in (0.25, 0.5, 0.99):
            path = by_size[int(len(paths) * part)]
            for name, text in EDITED:
                with (root / path).open("ab") as file:
                    file.write(text)
                indexer.refresh([path], source="file_change")
                again, anew = _round(store)
                print(f"  after an edit ({name}) of {path}: {anew} nodes, {again:.1f} s CPU")
                figures[f"links_again_{name}_{part}"] = again / spent
    return figures


def _round(store: HubStore) -> tuple[float, int]:
    began = time.process_time()
    about = begin_round(store._db)  # noqa: SLF001 - its place, which nobody else asks for
    base, found = about.beginning.base, 0
    assert store.links().begin(about.beginning)
    for portion in find_links(about):
        store.links().put(base, portion)
        found += len(portion.links)
    assert store.links().end(base)
    return time.process_time() - began, found


def _size(store: HubStore) -> int:
    run = store._connection.execute  # noqa: SLF001
    return int(
        run("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    )


def _asked(folder: Path, root: Path, status: dict[str, Any]) -> dict[str, float]:
    """Measure first questions about callers with stored links."""
    line = Line(status["socket"])
    with closing(sqlite3.connect(f"file:{status['db']}?mode=ro", uri=True)) as reader:
        linked = "SELECT count(*) FROM meta WHERE name = 'links_of'"
        began = time.perf_counter()
        while not reader.execute(linked).fetchone()[0]:
            time.sleep(0.1)
        waited = time.perf_counter() - began
        keys = [key for (key,) in reader.execute("SELECT key FROM node_state ORDER BY key")]
        hottest = reader.execute(
            "SELECT key FROM dependencies JOIN link_ends ON target = id WHERE key LIKE 'node:%' "
            "AND kind = 'call' GROUP BY key ORDER BY count(*) DESC LIMIT 1"
        ).fetchone()[0]
    asked = random.Random(5).sample(keys, ASKED)
    bare, called = [], []
    with process(ECHO, str(folder / "echo.sock")):
        echo = Line(folder / "echo.sock")
        for key in asked:
            said = json.dumps({"type": "callers", "node": key}).encode() + b"\n"
            bare.append(echo.ask(b"x" * 300 + b"\n")[0])
            called.append(line.ask(said)[0])
    p50, p99 = (_p(called, part) - _p(bare, part) for part in (0.5, 0.99))
    took = line.ask(json.dumps({"type": "get_node", "node": hottest}).encode() + b"\n")[0]
    print(f"linked {waited:.0f} s after it was ready")
    print(f"callers, first question, over the echo, p50 / p99 {p50:6.2f} / {p99:.2f} ms (0.1 / 5)")
    print(f"the most called node, first question {took:6.0f} ms   ({hottest})")
    alone = _without_daemon(root, status, hottest)
    return {"callers_first_p50": p50, "callers_first_p99": p99, "hottest_ms": took, **alone}


def _without_daemon(root: Path, status: dict[str, Any], key: str) -> dict[str, float]:
    words = [sys.executable, "-m", "remora", "hub", "get", "--json", "--root", str(root)]
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(
            [*words, "--db", status["db"], "--socket", "/nowhere/remora.sock", key],
            check=True,
            capture_output=True,
        )
        taken.append((time.perf_counter() - began) * 1000)
    print(f"  by a command without a daemon      {statistics.median(taken):6.0f} ms")
    return {"hottest_alone_ms": statistics.median(taken)}


def _p(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


if __name__ == "__main__":
    main()
