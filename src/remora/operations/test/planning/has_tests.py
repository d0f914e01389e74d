"""Nodes that have tests, found by static analysis."""

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

from remora.code.callgraph.linker import Linker
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.file_reader import read_all
from remora.hub.query.snapshots import MemorySnapshot


class NodesWithTests:
    """Finds out which nodes have tests. The tree's Python files are read on first use."""

    def __init__(self, tree: Path, observed: Collection[str] = ()) -> None:
        self._tree = tree
        self._observed = observed

    def holds(self, key: str) -> bool:
        """Return True if a test calls the node, directly or indirectly, or is named after it.

        `observed` contains the keys of nodes that tests entered when they were observed, for
        example through a registry or a command line.
        """
        return key in self._observed or bool(self.tests_of(key))

    def tests_of(self, key: str) -> list[str]:
        """Return the pytest ids of the tests that may reach the node, nearest first."""
        try:
            return [each.id for each in self._related.of(key)]
        except Exception:  # drop the half-built result
            self.__dict__.pop("_related", None)
            raise

    @cached_property
    def _related(self) -> RelatedTests:
        return RelatedTests(Linker(self._view), self._view)

    @cached_property
    def _view(self) -> MemorySnapshot:
        return MemorySnapshot(read_all(self._tree, _python_files(self._tree)))


def _python_files(tree: Path) -> Iterator[str]:
    """Yield the paths of Python files, relative to the tree.

    The search is iterative, because folders may be deeply nested.
    """
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            entries = [*os.scandir(tree / above)]
        except OSError:  # files in an unreadable folder cannot be read either
            continue
        for entry in entries:
            path = f"{above}/{entry.name}" if above else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif entry.name.endswith(".py"):
                yield path
