"""Callers of a node, against decoding one file: right after an edit and later."""

import random
import statistics
import time

from hub_index import SLICE, corpora, opened, project

from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import decode_lowered, encode_lowered
from remora.hub.query.snapshots import Snapshot

ASKED = 200


def main() -> dict[str, float]:
    """Return ratios of CPU seconds; the printed milliseconds are for information only."""
    figures: dict[str, float] = {}
    for name, place in corpora().items():
        with project(place) as root, opened(root) as (store, indexer):
            paths = indexer.look().changed
            for first in range(0, len(paths), SLICE):
                indexer.refresh(paths[first : first + SLICE], source="cold_start")
            figures |= _callers(name, store.view())
    return figures


def _callers(name: str, view: Snapshot) -> dict[str, float]:
    keys = random.Random(5).sample(sorted(view.keys()), ASKED)
    decoding = statistics.median(_decoding(view, path) for path in sorted(view.paths())[:ASKED])
    files = FileCache()
    first = _times(Linker(view, files), keys)
    later = _times(Linker(view, files), keys)  # as after an edit: only the files are known
    figures: dict[str, float] = {}
    for label, taken in (("first", first), ("later", later)):
        middle, most = statistics.median(taken), sorted(taken)[int(len(taken) * 0.99)]
        print(
            f"{name}, callers {label}: p50 {middle * 1e3:7.2f} ms, p99 {most * 1e3:6.1f} ms,"
            f" most {max(taken):5.2f} s; decoding a file {decoding * 1e3:5.2f} ms"
        )
        figures[f"{name}_{label}_p50_over_decoding"] = middle / decoding
        figures[f"{name}_{label}_p99_over_decoding"] = most / decoding
    figures[f"{name}_most_s"] = max(*first, *later)
    return figures


def _times(linker: Linker, keys: list[str]) -> list[float]:
    taken = []
    for key in keys:
        began = time.process_time()
        linker.callers(key)
        taken.append(time.process_time() - began)
    return taken


def _decoding(view: Snapshot, path: str) -> float:
    lowered = view.lowered(path)
    assert lowered is not None
    stored = encode_lowered(lowered)
    began = time.process_time()
    decode_lowered(stored)
    return time.process_time() - began


if __name__ == "__main__":
    main()
