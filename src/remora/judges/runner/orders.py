"""Orders to run tests in the project's interpreter, as they are and with each planted fault."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from remora.code.syntax.definitions import first_line
from remora.judges.faults.mutants import find_function, probe
from remora.judges.runner.parent import Order, run_in_child
from remora.tools.file_tree import FileTree
from remora.tools.host.module_names import import_roots
from remora.tools.tree import ToolTree

_SECONDS = 60.0
"""Time limit of the tests of a function with all its faults."""


def test_order(place: ToolTree, path: str, ids: Sequence[str], seconds: float) -> Order:
    """Return the order to run tests. The executed lines of the file `path` are recorded."""
    root, seconds = place.seen, min(seconds, place.left())
    words = [f"--rootdir={root}"]
    if place.once(FileTree.pytest_settings).imports_by_importlib:
        words.append("--import-mode=importlib")
    return {"ids": [*ids], "path": str(root / path), "words": words, "seconds": seconds}


def fault_order(
    place: ToolTree,
    path: str,
    content: bytes,
    qualname: str,
    ids: Sequence[str],
    faults: Sequence[str],
) -> Order | None:
    """Return the order to run tests with each fault of a function, or None if it has no such code.

    `faults` are sources of the function alone.
    """
    probing = probe_of(place, path, content, qualname)
    if probing is None:
        return None
    return {**test_order(place, path, ids, _SECONDS), **probing, "mutants": [*faults]}


def probe_of(
    place: ToolTree, path: str, content: bytes, qualname: str, number: int = 0
) -> Order | None:
    """Return how to find a function and replace it with one that reports its calls, or None."""
    tree, function = find_function(content, qualname)
    made = "" if function is None else probe(tree, function, qualname, number)
    if function is None or not made:
        return None
    return {
        "path": str(place.seen / path),
        "qualname": qualname,
        "header": [first_line(function), function.lineno],
        "probe": made,
    }


def run_orders(
    place: ToolTree, orders: Sequence[Order], roots: Sequence[str] = ()
) -> list[Mapping[str, Any] | None]:
    """Return the results of orders, which run in two processes. There is none if time ended.

    `roots` are the folders to import from, if they are not the usual ones.
    """
    halves = orders[::2], orders[1::2]
    paths = roots or import_roots(place.files)

    def work(half: Sequence[Order]) -> list[Mapping[str, Any] | None]:
        if not half:
            return []
        results = run_in_child(place, paths, half)
        return [results.of(number) for number in range(len(half))]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, halves)
    found: list[Mapping[str, Any] | None] = [None] * len(orders)
    found[::2], found[1::2] = first, second
    return found
