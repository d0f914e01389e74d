"""Which nodes have tests already, as the code itself tells: nothing is run."""

from functools import cached_property
from pathlib import Path

from remora.code.related import RelatedTests
from remora.code.resolve import Linker
from remora.hub.cold import read_cold
from remora.hub.view import MemoryView


class Tested:
    """Looks at all Python files of a tree when it is first asked, and only then."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def holds(self, key: str) -> bool:
        """Whether a test calls the node, through whatever else, or is named after it."""
        return bool(self._related.of(key))

    @cached_property
    def _related(self) -> RelatedTests:
        paths = (path.relative_to(self._tree).as_posix() for path in self._tree.rglob("*.py"))
        view = MemoryView(read_cold(self._tree, paths))
        return RelatedTests(Linker(view), view)
