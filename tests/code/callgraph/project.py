"""In-memory programs for the linker, and all their links in both directions."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.code.ir.model import LoweredFile, decode_lowered, encode_lowered
from remora.code.links import Edge


class Project:
    """A program of a few files, each encoded and decoded as in the store."""

    def __init__(self, files: Mapping[str, str]) -> None:
        facts = {path: read_facts(path, text.encode()) for path, text in files.items()}
        self.keys = [node.key for one in facts.values() for node in one.nodes]
        self._lowered = {
            one.path: decode_lowered(encode_lowered(one.lowered)) for one in facts.values()
        }
        self._mentions: defaultdict[str, set[str]] = defaultdict(set)
        for path, lowered in self._lowered.items():
            for name in lowered.names:
                self._mentions[name].add(path)

    def check_time(self) -> None:
        """Do nothing: there is no limit."""

    def paths(self) -> Collection[str]:
        return self._lowered.keys()

    def lowered(self, path: str) -> LoweredFile | None:
        return self._lowered.get(path)

    def mentioning(self, name: str) -> Collection[str]:
        return self._mentions.get(name, ())


Triple = tuple[str, str, Edge]


def forward(project: Project, linker: Linker) -> set[Triple]:
    """Return (caller, callee, tier and lines) of all edges in the project, from the callees."""
    return {
        (key, edge.key, Edge(key="", tier=edge.tier, lines=edge.lines))
        for key in project.keys
        for edge in linker.callees(key)
        if not edge.key.startswith("ext:")
    }


def backward(project: Project, linker: Linker) -> set[Triple]:
    """Return the same edges from the callers."""
    return {
        (edge.key, key, Edge(key="", tier=edge.tier, lines=edge.lines))
        for key in project.keys
        for edge in linker.callers(key)
    }


def edges(files: Mapping[str, str], key: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the callees of a node: key without `node:` → tier and lines."""
    found = Linker(Project(files)).callees(f"node:{key}")
    return {edge.key.removeprefix("node:"): (edge.tier, edge.lines) for edge in found}
