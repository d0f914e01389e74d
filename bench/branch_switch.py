"""Time from a branch switch of 1,000 files to a fresh answer of the daemon."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hub_daemon import Line, hub
from hub_index import SLICE, corpora, opened, project

FILES = 1000
ROUNDS = 4
NODE = "switched"


def main() -> dict[str, float]:
    """Return the ratio to a cold index of the same files, both in seconds of this run."""
    places = [place for name, place in corpora().items() if name != "stdlib"]
    places = places or [*corpora().values()]
    with project(*places) as root, tempfile.TemporaryDirectory(prefix="rb-") as folder:
        paths = _two_branches(root)
        with hub(Path(folder), root) as status:
            line, key = Line(status["socket"]), f"node:{paths[-1]}:{NODE}"
            fresh = [_switched(root, line, key, number) for number in range(ROUNDS)]
        cold = [_cold(root, paths) for _ in range(2)]
    ratio = min(fresh) / min(cold)
    print(f"fresh after a switch of {len(paths)} files    {min(fresh):7.2f} s after git ended")
    print(f"cold index of these files            {min(cold):7.2f} s")
    print(f"  ratio                              {ratio:7.2f} x   (aim <= 1.3)")
    return {"switch_over_cold": ratio}


def _git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def _two_branches(root: Path) -> list[str]:
    """Return the paths that differ between branches `one` and `two`: `two` has one more function in each."""
    _git(root, "init", "-q", "-b", "one")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "one")
    _git(root, "checkout", "-q", "-b", "two")
    paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))[:FILES]
    for path in paths:
        with (root / path).open("ab") as file:
            file.write(f"\n\ndef {NODE}():\n    return 1\n".encode())
    _git(root, "commit", "-q", "-am", "two")
    _git(root, "checkout", "-q", "one")
    return paths


def _switched(root: Path, line: Line, key: str, number: int) -> float:
    """Return seconds from the end of git to a fresh answer with the last file."""
    _git(root, "checkout", "-q", "one" if number % 2 else "two")
    began = time.perf_counter()
    question = json.dumps({"type": "get_context", "nodes": [key]}).encode() + b"\n"
    while True:
        answer = json.loads(line.ask(question)[1])
        known = answer.get("result", {}).get(key)
        if known is None and number % 2 and answer["ok"]:
            # a node that is not there tells nothing of freshness: one of the same file does
            other = key.rpartition(":")[0] + ":__module__"
            asked = json.dumps({"type": "get_context", "nodes": [other]}).encode() + b"\n"
            known = json.loads(line.ask(asked)[1]).get("result", {}).get(other)
        if known is not None and known["fresh"]:
            return time.perf_counter() - began


def _cold(root: Path, paths: list[str]) -> float:
    with tempfile.TemporaryDirectory(prefix="rb-") as folder:
        place = Path(folder) / "root"
        for path in paths:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(root / path, place / path)
        with opened(place) as (_, indexer):
            found = indexer.look().changed
            began = time.perf_counter()
            for first in range(0, len(found), SLICE):
                indexer.refresh(found[first : first + SLICE], source="cold_start")
            return time.perf_counter() - began


if __name__ == "__main__":
    main()
