"""Answers from the database, which is read-only here. Changed files are analyzed again."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.file_facts import FileFacts
from remora.errors import DiskError, NotFound
from remora.hub.file_reader import Content, facts_of, open_reader
from remora.hub.file_stamp import is_racy
from remora.hub.members.members import Members
from remora.hub.protocol import Request
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle
from remora.hub.query.snapshots import OverlaidSnapshot
from remora.hub.sources.source_answer import SECONDS_PER_BYTE, Budget, SourceAnswer
from remora.hub.store.file_rows import FileRow
from remora.hub.store.reader import StoredSnapshot, open_snapshot
from remora.ids import escape_path

_T = TypeVar("_T")
SECONDS_PER_FILE = 10e-6
"""Maximum seconds to check one file in a sweep over all files."""
LINKS_S = 30.0
"""Maximum seconds to find links, even with more time: beyond it, indexing is worthwhile."""


class DatabaseSource:
    """Answers requests using the database and the changed files.

    Facts and links are cached. The database is never written.
    """

    def __init__(self, root: Path, db: Path | None, members: Members) -> None:
        self._db = db
        self._members = members
        self._root = root
        self._view: StoredSnapshot | None = None
        self._analyzed: dict[str, FileFacts] = {}
        self._rows: tuple[int, Mapping[str, FileRow]] = (-1, {})
        self._cached: tuple[object, OverlaidSnapshot, NodeQueries] | None = None

    def prepare(self) -> None:
        """Open the database and read the stored rows of all files. Raises DiskError."""
        if (view := self._open_view()) is not None:
            self._index(view, view.generation)

    def ask(self, request: Request, budget: Budget) -> SourceAnswer | None:
        """Return the answer, or None if there is no usable database or not enough time.

        Raises NotFound if a requested node does not exist.
        """
        if (view := self._open_view()) is None:
            return None
        try:
            return self._reply(view, request, budget)
        except DiskError:
            self.close()
            return None
        except OutOfTimeError:
            return None

    def look(self, question: Callable[[OverlaidSnapshot], _T]) -> _T | None:
        """Answer a question about the stored and changed files, however long it takes.

        Returns None if there is no usable database. Raises HubDamaged if it is found to be damaged.
        """
        if (view := self._open_view()) is None:
            return None
        rows = self._index(view, view.generation)
        return question(OverlaidSnapshot(view, self._changed_files(rows, Budget(math.inf)) or {}))

    def _reply(self, view: StoredSnapshot, request: Request, budget: Budget) -> SourceAnswer | None:
        generation = view.generation
        rows = self._index(view, generation)
        if not budget.affords(len(rows) * SECONDS_PER_FILE):
            return None
        if (changed := self._changed_files(rows, budget)) is None:
            return None
        # if the generation changes, the result may be from a database that was just reset
        try:
            result = handle(request, self._answers(view, generation, changed, budget))
        except NotFound:
            if view.generation == generation:
                raise
            return None
        return SourceAnswer(result, generation, "sqlite") if view.generation == generation else None

    def _index(self, view: StoredSnapshot, generation: int) -> Mapping[str, FileRow]:
        """Return the stored rows of all files. They are cached for each generation."""
        if self._rows[0] != generation:
            self._rows = generation, view.files()
        return self._rows[1]

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None
        self._rows, self._cached = (-1, {}), None

    def _open_view(self) -> StoredSnapshot | None:
        if self._view is None and self._db is not None:
            self._view = open_snapshot(self._db)
        return self._view

    def _changed_files(
        self, rows: Mapping[str, FileRow], budget: Budget
    ) -> dict[str, FileFacts | None] | None:
        """Return the changed files by path, or None if this takes too long.

        A file that was deleted or cannot be read is mapped to None.
        """
        began = time.time_ns()
        now = self._members.sweep()
        found: dict[str, FileFacts | None] = {
            escape_path(path): None for path in rows.keys() - now.keys()
        }
        with open_reader(self._root, self._members.file_limit) as reader:
            for path, stamp in now.items():
                row = rows.get(path)
                if row is not None and row.stamp == stamp and not is_racy(stamp, began):
                    continue
                if not budget.left:
                    return None
                try:
                    content = reader.read(path)
                except OSError:
                    found[escape_path(path)] = None
                    continue
                if row is None or row.file_hash != content.file_hash:
                    if (facts := self._facts(path, content, budget)) is None:
                        return None
                    found[facts.path] = facts
        self._analyzed = {path: facts for path, facts in found.items() if facts is not None}
        return found

    def _facts(self, path: str, content: Content, budget: Budget) -> FileFacts | None:
        """Return the facts of a file, or None if there is not enough time to analyze it."""
        known = self._analyzed.get(escape_path(path))
        if known is not None and known.file_hash == content.file_hash:
            return known
        if not budget.affords(len(content.data) * SECONDS_PER_BYTE):
            return None
        facts = facts_of(path, content)
        self._analyzed[facts.path] = facts  # kept even if there is no time for the rest
        return facts

    def _answers(
        self,
        view: StoredSnapshot,
        generation: int,
        changed: Mapping[str, FileFacts | None],
        budget: Budget,
    ) -> NodeQueries:
        """Return queries, reusing the last ones and their caches if nothing has changed."""
        state = (
            generation,
            frozenset((path, facts and facts.file_hash) for path, facts in changed.items()),
        )
        if self._cached is None or self._cached[0] != state:
            timed = OverlaidSnapshot(view, changed)
            self._cached = state, timed, NodeQueries(timed, root=self._root)
        _, timed, answers = self._cached
        timed.deadline = min(budget.until, time.monotonic() + LINKS_S)
        return answers
