"""Queries that the protocol does not support, on the nodes of the current files."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from remora.hub.file_limits import FileRules
from remora.hub.file_reader import read_all
from remora.hub.members.members import Members
from remora.hub.query.snapshots import OverlaidSnapshot
from remora.hub.sources.database_source import DatabaseSource
from remora.ids import split_node_key, unescape_path

_T = TypeVar("_T")


class CurrentNodes:
    """Nodes of the current files. Each query checks all files for changes.

    Results are None or empty if there is no usable database. Raises HubDamaged if it is damaged.
    """

    def __init__(self, root: Path, db: Path | None, files: FileRules) -> None:
        self.file_limit = files.limit
        """Size in bytes above which a file is skipped."""
        self._root, self._db = root, db
        self._members = Members(root, files.exclude, file_limit=files.limit)

    def keys(self) -> Sequence[str]:
        """Return all node keys."""
        return self.look(lambda view: tuple(view.keys())) or ()

    def constructor(self, key: str) -> str | None:
        """Return the key of the `__init__` that a class uses, or None if there is none."""
        from remora.code.callgraph.linker import Linker  # imports the linker

        return self.look(lambda view: Linker(view).constructor(key))

    def imported(self, dotted: str) -> str | None:
        """Return the key of the node to which an import of `dotted` refers."""
        from remora.code.callgraph.linker import Linker

        return self.look(lambda view: Linker(view).resolve_export(dotted))

    def implementation(self, key: str) -> str:
        """Return the key of the definition that an `@overload` stub belongs to.

        Only the file of the node is read. Returns `key` itself if it is not a stub, or if there is
        no implementation.
        """
        path, qualname = split_node_key(key)
        files = read_all(self._root, [unescape_path(path)], limit=self.file_limit)
        nodes = [node for facts in files.values() for node in facts.nodes]
        same = [node for node in nodes if node.qualname.partition("#")[0] == qualname]
        if not same or not is_overload_stub(same[0].decorators):
            return key
        rest = (str(node.key) for node in same if not is_overload_stub(node.decorators))
        return next(rest, key)

    def look(self, question: Callable[[OverlaidSnapshot], _T | None]) -> _T | None:
        """Answer a question about the stored and changed files. Raises HubDamaged."""
        with closing(DatabaseSource(self._root, self._db, self._members)) as source:
            return source.look(question)


def is_overload_stub(decorators: Sequence[str]) -> bool:
    """Return True if one of the decorators is `overload`, however it is imported."""
    return any(name.lstrip("@").rpartition(".")[2] == "overload" for name in decorators)
