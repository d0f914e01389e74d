"""Answers that use only the files of the requested nodes."""

from functools import lru_cache
from pathlib import Path

from remora.code.file_facts import FileFacts
from remora.hub.file_reader import Content, facts_of, open_reader
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle, nodes_of
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.sources.source_answer import Budget, SourceAnswer
from remora.ids import file_of_key

SECONDS_PER_BYTE = 1e-6
"""Maximum seconds to read and analyze one byte: twice the time measured on a slow machine."""
_MAX_CACHED = 256 * 1024


class FileSource:
    """Answers with facts from single files. Links, tests and identities are null."""

    def __init__(self, root: Path, members: Members) -> None:
        self._root = root
        self._members = members

    def ask(self, request: Request, budget: Budget) -> SourceAnswer | None:
        """Return the answer, or None if the files cannot provide it within the budget.

        Raises NotFound if a requested node does not exist, and DiskError if the root cannot be read.
        """
        if not (keys := nodes_of(request)):
            return None
        requested = {file_of_key(key) for key in keys}
        paths = [path for path in sorted(requested) if _is_below(path)]
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
