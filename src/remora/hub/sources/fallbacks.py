"""Fallback sources, which the client tries in order when no daemon answers."""

from contextlib import suppress
from pathlib import Path

from remora.errors import NotFound
from remora.hub.file_limits import FileRules
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.sources.database_source import DatabaseSource
from remora.hub.sources.file_source import FileSource
from remora.hub.sources.source_answer import Budget, SourceAnswer

_DATABASE_SHARE = 0.6  # the database's share of the time; the rest is for the requested file


class FallbackSources:
    """Source that uses the database and changed files, or else only the requested files.

    Instances may be used by only one thread at a time.
    """

    def __init__(self, root: Path, db: Path | None, files: FileRules) -> None:
        self._members = Members(root, files.exclude, file_limit=files.limit)
        self._stored = DatabaseSource(root, db, self._members)
        self._file = FileSource(root, self._members)

    def ask(
        self, request: Request, budget: Budget, *, links: bool
    ) -> SourceAnswer | NotFound | None:
        """Return the first answer that is available in time. Never raises.

        NotFound counts as an answer. If `links` is False, only the requested files are used.
        """
        share = Budget(budget.left * _DATABASE_SHARE)
        for source, time in ((self._stored, share), (self._file, budget)):
            if source is self._stored and not links:
                continue
            try:
                answer = source.ask(request, time)
            except NotFound as unknown:
                return unknown
            except Exception:  # noqa: BLE001, S112 - never raises
                continue
            if answer is not None:
                return answer
        return None

    def prepare(self) -> None:
        """Open the database, read git's ignore rules and sweep all files. Never raises."""
        with suppress(Exception):  # `ask` repeats the error
            self._stored.prepare()
            self._members.sweep()

    def close(self) -> None:
        self._stored.close()
