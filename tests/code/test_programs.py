"""The linker finds the calls of small programs, whose edges are written beside them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.hub.query.snapshots import MemorySnapshot
from remora.ids import MODULE, node_key

SHEETS = Path(__file__).parent / "programs"
Pair = tuple[str, str]
"""Node keys of caller and callee; a callee outside the project is `ext:…`."""


class Program(NamedTuple):
    """A small program with the edges that a linker should find, and those that are not counted."""

    name: str
    files: Mapping[str, str]
    expected: set[Pair]
    either: set[Pair]


def programs() -> Iterator[Program]:
    """Yield all programs, by feature and in the order of their sheet."""
    for sheet in sorted(SHEETS.glob("*.txt")):
        _, *parts = re.split(r"(?m)^## (\w+)\n", sheet.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            yield program(f"{sheet.stem}/{name}", text)


def program(name: str, text: str) -> Program:
    first, *parts = re.split(r"(?m)^### (\S+)\n", text)
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    edges: tuple[set[Pair], set[Pair]] = set(), set()
    for line in filter(None, files.pop("edges").split("\n")):
        caller, _, callees = line.partition(" -> ")
        for callee in callees.split(", "):
            edges[callee.startswith("?")].add((key(caller), key(callee.lstrip("~?"))))
    return Program(name, {"main.py": first, **files} if first.strip() else files, *edges)


def key(short: str) -> str:
    if short.startswith("ext:"):
        return short
    if short.endswith(".py"):
        return node_key(short, MODULE)
    path, _, qualname = short.rpartition(":")
    return node_key(path or "main.py", qualname)


def found(program: Program) -> set[Pair]:
    """Return the edges that the linker finds; external ones only if the program expects some."""
    facts = {path: read_facts(path, text.encode()) for path, text in program.files.items()}
    view = MemorySnapshot(facts)
    linker, keys = Linker(view), list(view.keys())
    edges = {(each, edge.key) for each in keys for edge in linker.callees(each)}
    externals = any(callee.startswith("ext:") for _, callee in program.expected)
    return {
        pair
        for pair in edges - program.either
        if not pair[1].startswith("ext:" if not externals else "ext:builtins.")
    }


def test_precision_and_recall() -> None:
    right, wrong, missed = 0, [], []
    for each in programs():
        edges = found(each)
        right += len(edges & each.expected)
        wrong += [f"{each.name}: wrong {pair}" for pair in edges - each.expected]
        missed += [f"{each.name}: missed {pair}" for pair in each.expected - edges]
    report = "\n".join((*wrong, *missed))
    assert right >= 800, report
    assert len(wrong) <= right / 50, report
    assert len(missed) <= right / 50, report
