"""Which nodes have tests already, as the code itself tells: nothing is run."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from remora.code.callgraph.linker import Linker
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.query.fresh_read import read_all
from remora.hub.query.snapshots import MemorySnapshot


class TestedNodes:
    """Looks at all Python files of a tree when it is first asked, and only then."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def holds(self, key: str) -> bool:
        """Whether a test calls the node, through whatever else, or is named after it."""
        try:
            return bool(self._related.of(key))
        except Exception:  # what it was in the middle of is not finished, and not right
            self.__dict__.pop("_related", None)
            raise

    @cached_property
    def _related(self) -> RelatedTests:
        return RelatedTests(Linker(self._view), self._view)

    @cached_property
    def _view(self) -> MemorySnapshot:
        return MemorySnapshot(read_all(self._tree, _python_files(self._tree)))


def _python_files(tree: Path) -> Iterator[str]:
    """Relative to the tree; without recursion, because folders may be nested deeply."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            entries = [*os.scandir(tree / above)]
        except OSError:  # its files cannot be read either
            continue
        for entry in entries:
            path = f"{above}/{entry.name}" if above else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif entry.name.endswith(".py"):
                yield path
