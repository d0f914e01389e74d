"""Fallback sources, which the client tries in order when no daemon answers."""

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from remora.code.file_facts import FileFacts
from remora.errors import NotFound
from remora.hub.file_limits import FileRules
from remora.hub.file_reader import Content, facts_of, open_reader
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle, nodes_of
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.sources.database_source import DatabaseSource
from remora.hub.sources.source_answer import SECONDS_PER_BYTE, Budget, SourceAnswer
from remora.ids import file_of_key

_DATABASE_SHARE = 0.6  # the database's share of the time; the rest is for the requested file
_MAX_CACHED = 256 * 1024
"""Bytes of the largest file whose facts are cached."""


class FallbackSources:
    """Source that uses the database and changed files, or else only the requested files.

    Instances may be used by only one thread at a time.
    """

    def __init__(self, root: Path, db: Path | None, files: FileRules) -> None:
        self._root = root
        self._members = Members(root, files.exclude, file_limit=files.limit)
        self._stored = DatabaseSource(root, db, self._members)

    def ask(
        self, request: Request, budget: Budget, *, links: bool
    ) -> SourceAnswer | NotFound | None:
        """Return the first answer that is available in time. Never raises.

        NotFound counts as an answer. If `links` is False, only the requested files are used.
        """
        share = Budget(budget.left * _DATABASE_SHARE)
        sources = ((self._stored.ask, share), (self._ask_files, budget))
        for ask, time in sources if links else sources[1:]:
            try:
                answer = ask(request, time)
            except NotFound as unknown:
                return unknown
            except Exception:  # noqa: BLE001, S112 - never raises
                continue
            if answer is not None:
                return answer
        return None

    def _ask_files(self, request: Request, budget: Budget) -> SourceAnswer | None:
        """Return an answer from the files of the requested nodes, or None if they give none in time.

        Links, tests and identities are null. Raises NotFound if a requested node does not exist.
        """
        if not (keys := nodes_of(request)):
            return None
        requested = {file_of_key(key) for key in keys}
        paths = [  # relative and normalized, like the paths that git lists
            path
            for path in sorted(requested)
            if "\0" not in path and {"", ".", ".."}.isdisjoint(path.split("/"))
        ]
        read: dict[str, FileFacts] = {}
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
                find = _cached_facts if size <= _MAX_CACHED else facts_of
                facts = find(path, content._replace(stamp=None))
                read[facts.path] = facts
        answers = NodeQueries(MemorySnapshot(read), partial_links=True)
        return SourceAnswer(handle(request, answers), None, "file")

    def prepare(self) -> None:
        """Open the database, read git's ignore rules and sweep all files. Never raises."""
        with suppress(Exception):  # `ask` repeats the error
            self._stored.prepare()
            self._members.sweep()

    def close(self) -> None:
        self._stored.close()


@lru_cache(maxsize=8)  # an agent requests the same file every turn
def _cached_facts(path: str, content: Content) -> FileFacts:
    return facts_of(path, content)
