"""Hub index: cold, warm and after one edit, against `ast.parse` of the same files."""

import ast
import gc
import importlib.util
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from remora.code.callgraph.linker import Linker
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore

SLICE = 128
EDITED_FILES = 885
EDITS = 300
PER_FILE = 50


def main() -> dict[str, float]:
    """Return ratios of CPU seconds of one process; the compared tasks alternate in slices."""
    figures: dict[str, float] = {}
    for name, place in corpora().items():
        figures |= _corpus(name, place)
    figures |= _edit(corpora())
    figures |= _growth()
    figures |= _memory(corpora()["stdlib"])
    return figures


def corpora() -> dict[str, Path]:
    """Return large installed packages."""
    found = {"stdlib": Path(sysconfig.get_paths()["stdlib"])}
    for package in ("inspect_ai", "networkx"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            found[package] = Path(spec.submodule_search_locations[0])
    return found


@contextmanager
def project(*places: Path, most: int | None = None) -> Iterator[Path]:
    """Copy the Python files below these folders, with modification times old enough to be trusted."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        files = [
            (place, path)
            for place in places
            for path in sorted(place.rglob("*.py"))
            if "site-packages" not in path.relative_to(place).parts
        ]
        for place, path in files[:most]:
            to = root / place.name / path.relative_to(place)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
        yield root


@contextmanager
def opened(root: Path) -> Iterator[tuple[HubStore, Indexer]]:
    """Open the store of a project and its indexer."""
    db = root.parent / "cache" / "hub.db"
    with HubStore(db, root=root, clock=_now) as store:
        yield store, Indexer(root, store, Members(root))


def _now() -> datetime:
    return datetime.now(UTC)


def _corpus(name: str, place: Path) -> dict[str, float]:
    with project(place) as root:
        with opened(root) as (_, indexer):
            paths = indexer.look().changed
            sources = [(root / path).read_bytes() for path in paths]
            base = cold = 0.0
            for first in range(0, len(paths), SLICE):
                base += _parse(sources[first : first + SLICE])
                began = time.process_time()
                indexer.refresh(paths[first : first + SLICE], source="cold_start")
                cold += time.process_time() - began
        time.sleep(2.1)  # stamps that are younger than 2 s are not believed
        with opened(root) as (_, indexer):
            indexer.look()
        warm = []
        for _ in range(5):
            began = time.process_time()
            with opened(root) as (_, indexer):
                assert not any(indexer.look())
                warm.append(time.process_time() - began)
    ratio, restart = cold / base, statistics.median(warm) / cold
    print(f"{name}: {len(paths)} files, ast.parse {base:.1f} s CPU")
    print(f"  whole cold index / ast.parse       {ratio:7.2f} x   (aim <= 1.7)")
    print(f"  warm restart / cold index          {restart:7.4f} x   (aim <= 0.01)")
    return {f"index_over_parse_{name}": ratio, f"warm_over_cold_{name}": restart}


def _parse(sources: list[bytes]) -> float:
    began = time.process_time()
    for source in sources:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ast.parse(source)
            except (SyntaxError, ValueError):
                continue
    return time.process_time() - began


def _edit(places: dict[str, Path]) -> dict[str, float]:
    """Measure adding a function to one file of 885."""
    own = [place for name, place in places.items() if name != "stdlib"] or [*places.values()]
    with project(*own, most=EDITED_FILES) as root, opened(root) as (_, indexer):
        paths = indexer.look().changed
        began = time.process_time()
        for first in range(0, len(paths), SLICE):
            indexer.refresh(paths[first : first + SLICE], source="cold_start")
        cold = time.process_time() - began
        taken = []
        for path in random.Random(1).choices(paths, k=EDITS):
            with (root / path).open("ab") as file:
                file.write(b"\n\ndef added():\n    return 1\n")
            began = time.process_time()
            done = indexer.refresh([path], source="file_change")
            taken.append(time.process_time() - began)
            assert done.changed
    ratio = statistics.median(taken) / cold * 1000
    print(f"one-file edit / cold index of {len(paths)} files, p50")
    print(f"                                     {ratio:7.2f} /1000 (aim <= 1)")
    return {"edit_over_cold_per_mille": ratio}


def _growth() -> dict[str, float]:
    """Return the cost per file of 50,000 generated functions / of 5,000."""
    small, large = _generated(5_000), _generated(50_000)
    ratio = large / small
    print(f"cost per file, 50,000 functions / 5,000 {ratio:4.2f} x   (aim <= 1.2)")
    return {"per_file_50k_over_5k": ratio}


def _generated(functions: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        count = functions // PER_FILE
        for number in range(count):
            (root / f"m{number}.py").write_text(_module(number, count))
        with opened(root) as (store, indexer):
            paths = indexer.look().changed
            began = time.process_time()
            for first in range(0, count, SLICE):
                indexer.refresh(paths[first : first + SLICE], source="cold_start")
            linker = Linker(store.view())
            for key in random.Random(2).sample(sorted(store.view().keys()), 200):
                linker.callers(key)
            return (time.process_time() - began) / count


def _module(number: int, count: int) -> str:
    other = (number * 7 + 1) % count
    head = f"import m{other}\n\n\n"
    return head + "".join(
        f"def f{number}_{each}(x: int) -> int:\n"
        f'    """Add {each}."""\n'
        f"    if x > {each}:\n"
        f"        return m{other}.f{other}_{each}(x - 1)\n"
        f"    return x + {each}\n\n\n"
        for each in range(PER_FILE)
    )


def _memory(place: Path) -> dict[str, float]:
    """Measure the memory of a process that indexed the standard library and answered callers of 200 nodes."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", str(place)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    held, peak = (float(number) for number in done.stdout.split())
    print(f"memory with the standard library     {held:7.0f} MB  (aim <= 250; peak {peak:.0f})")
    return {"memory_mb": held}


def _hold(place: Path) -> None:
    with project(place) as root, opened(root) as (store, indexer):
        paths = indexer.look().changed
        for first in range(0, len(paths), SLICE):
            indexer.refresh(paths[first : first + SLICE], source="cold_start")
        linker = Linker(store.view())
        for key in random.Random(3).sample(sorted(store.view().keys()), 200):
            linker.callers(key)
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        held = pages * resource.getpagesize() / 1e6
        said = Path("/proc/self/status").read_text()  # ru_maxrss counts what forked us too
        print(held, int(said.split("VmHWM:")[1].split()[0]) / 1e3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        _hold(Path(sys.argv[2]))
    else:
        main()
