"""Fallback sources without a daemon, in order, in the client's own process."""

from contextlib import suppress
from pathlib import Path

from remora.errors import NotFound
from remora.hub.file_rules import FileRules
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.sources.database_source import DatabaseSource
from remora.hub.sources.file_source import FileSource
from remora.hub.sources.source_answer import Budget, SourceAnswer

_OF_STORED = 0.6
"""The database's share of the time: what is left must do for the asked file."""


class FallbackSources:
    """The database with a look at the files, else the asked file. Used by one thread at a time."""

    def __init__(self, root: Path, db: Path | None, files: FileRules) -> None:
        self._members = Members(root, files.exclude, file_limit=files.limit)
        self._stored = DatabaseSource(root, db, self._members)
        self._file = FileSource(root, self._members)

    def ask(
        self, request: Request, budget: Budget, *, links: bool = True
    ) -> SourceAnswer | NotFound | None:
        """The first rung's answer that can be had in time; that there is no such node is one too.
        `links`: whether those are worth looking for.

        Never raises: whatever breaks here, it costs nobody more than the facts.
        """
        share = Budget(budget.left * _OF_STORED)
        for rung, time in ((self._stored, share), (self._file, budget)):
            if rung is self._stored and not links:
                continue
            try:
                answer = rung.ask(request, time)
            except NotFound as unknown:
                return unknown
            except Exception:  # noqa: BLE001, S112 - see above
                continue
            if answer is not None:
                return answer
        return None

    def prepare(self) -> None:
        """Read git's rules and sweep all files once, in advance. Never raises."""
        with suppress(Exception):  # `ask` finds out again, and says nothing
            self._members.sweep()

    def close(self) -> None:
        """Close the database."""
        self._stored.close()
