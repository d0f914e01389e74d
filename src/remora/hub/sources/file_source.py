"""Answers that use only the files of the requested nodes, and check `.gitignore` without a watcher."""

import os
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from remora.code.file_facts import FileFacts
from remora.hub.file_reader import Content, facts_of, open_reader
from remora.hub.file_stamp import Stamp, is_racy, stamp_of
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.query.queries import NodeQueries
from remora.hub.query.responses import handle, nodes_of
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.sources.source_answer import Budget, SourceAnswer
from remora.ids import split_node_key, unescape_path

SECONDS_PER_BYTE = 1e-6
"""Maximum seconds to read and analyze one byte: twice the time measured on a slow machine."""
_MAX_CACHED = 256 * 1024


class FileSource:
    """Answers with facts from single files. Links, tests and identities are null."""

    def __init__(self, root: Path, members: Members) -> None:
        self._root = root
        self._members = members
        self._ignore_files = _IgnoreFiles(root)

    def ask(self, request: Request, budget: Budget) -> SourceAnswer | None:
        """Return the answer, or None if the files cannot provide it within the budget.

        Raises NotFound if a requested node does not exist, and OSError if the root cannot be read.
        """
        if not (keys := nodes_of(request)):
            return None
        requested = {unescape_path(split_node_key(key)[0]) for key in keys}
        paths = [path for path in sorted(requested) if _is_below(path)]
        if self._ignore_files.moved(paths):
            self._members.forget()
        found: dict[str, FileFacts] = {}
        with open_reader(self._root, self._members.file_limit) as reader:
            for path in sorted(self._members.belonging(paths)):
                try:
                    content = reader.read(path)
                except OSError:  # an unreadable file has no nodes
                    continue
                size = len(content.data)
                if not budget.affords(size * SECONDS_PER_BYTE):
                    return None
                # the stamp varies between calls even if the content does not
                cacheable = size <= _MAX_CACHED
                facts = (_facts if cacheable else facts_of)(path, content._replace(stamp=None))
                found[facts.path] = facts
        answers = NodeQueries(MemorySnapshot(found), partial_links=True)
        return SourceAnswer(handle(request, answers), None, "file")


@lru_cache(maxsize=8)  # an agent requests the same file every turn
def _facts(path: str, content: Content) -> FileFacts:
    return facts_of(path, content)


def _is_below(path: str) -> bool:
    """Return True if `path` is relative and normalized, like the paths that git lists."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


class _IgnoreFiles:
    """Last known Stamps of the `.gitignore` files in the parent folders of requested paths."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stamps: dict[str, Stamp | None] = {}
        self._since = time.time_ns()

    def moved(self, paths: Iterable[str]) -> bool:
        """Return True if a relevant `.gitignore` has changed since the last call.

        Only the parent folders of `paths` are checked. A `.gitignore` that was created or deleted
        counts as changed.
        """
        started = time.time_ns()
        moved = False
        for folder in {place for path in paths for place in _ancestors(path)}:
            now = _stamp(self._root / folder / ".gitignore")
            if folder in self._stamps:
                moved |= self._stamps[folder] != now
            else:
                stamps = (now, _stamp(self._root / folder))
                moved |= any(stamp is not None and is_racy(stamp, self._since) for stamp in stamps)
            self._stamps[folder] = now
        if moved:
            self._since = started
        return moved


def _ancestors(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts) + 1)]


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except OSError:
        return None
