"""One change set into the user's tree: all of it or nothing, whenever we are killed."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from remora.errors import Conflict, DiskError
from remora.ids import spell_path, unspell_path
from remora.workspaces.apply.file_swap import FileSwapper
from remora.workspaces.apply.journal import (
    Journal,
    JournalEntry,
    JournalFolder,
    belongs_to,
    new_journal,
)
from remora.workspaces.apply.three_way import (
    FileConflict,
    FilePatch,
    FileWrite,
    PreparedChanges,
    prepare_changes,
)
from remora.workspaces.rooted_files import RootedFiles

__all__ = [
    "FileConflict",
    "FilePatch",
    "FileWrite",
    "OnConflict",
    "PreparedChanges",
    "Recovery",
    "prepare_changes",
    "recover_journal",
    "write_changes",
]


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a journal that was left: none was there, or it was `completed`, `undone`
    (its review had not been recorded) or ended in a `conflict`, with nothing of it written."""

    outcome: Literal["none", "completed", "undone", "conflict"]
    journal: Journal | None = None
    conflicts: tuple[FileConflict, ...] = ()


_FREE = "nothing of this change set was written; free the disk, then accept it again"

OnConflict = Callable[[Sequence[FileConflict]], None]


def write_changes(
    prepared: PreparedChanges,
    journal_folder: Path,
    *,
    record: Callable[[], None],
    note: Mapping[str, str] | None = None,
    on_conflict: OnConflict = lambda _: None,
) -> list[FileConflict]:
    """Write a prepared change set, or nothing of it; the conflicts say why not.

    `record` is called once the journal is durable, before the first file is touched: it appends
    and syncs the review. `note` tells `recover_journal` which review that is. `on_conflict` is called
    while the journal still stands, so that the verdict is recorded before it goes. Raises
    Conflict if `prepared` holds conflicts, if another process applies, or if a journal is left
    (see `recover_journal`); DiskError if no journal can be written. What `record` raises passes; the
    journal then stays, for only the stream can say whether the review is in it.
    """
    if prepared.conflicts:
        paths = ", ".join(conflict.path for conflict in prepared.conflicts)
        raise Conflict(f"nothing was written, for these files conflict: {paths}")
    store = JournalFolder(journal_folder)
    with store.locked():
        if store.read() is not None:
            raise Conflict(
                "an interrupted change is still to be completed", hint="recover it first"
            )
        journal = _journal(prepared, note or {})
        try:
            store.write(journal, _contents(prepared))
        except OSError as error:
            raise DiskError(f"cannot write a journal in {journal_folder}: {error}") from error
        record()
        with _left_for_later(), FileSwapper(RootedFiles(prepared.root), journal, store) as placing:
            return _carry_out(placing, journal, store, on_conflict)


def recover_journal(
    journal_folder: Path,
    root: Path,
    *,
    recorded: Callable[[Journal], bool],
    on_conflict: OnConflict = lambda _: None,
) -> Recovery:
    """Complete the journal that a killed process left, or undo it.

    It is undone if `recorded` says that its review is not the latest verdict on that change set
    in the stream. May itself be killed and repeated. Raises Conflict for a journal of another
    root or one in use, DiskError for a damaged one.
    """
    store = JournalFolder(journal_folder)
    with store.locked():
        journal = store.read()
        if journal is None:
            return Recovery(outcome="none")
        tree = RootedFiles(root.resolve())
        if not belongs_to(journal, tree.root):
            raise Conflict(f"the journal in {journal_folder} speaks of another root than {root}")
        conflicts: Sequence[FileConflict] = ()
        outcome: Literal["completed", "undone", "conflict"] = "completed"
        with _left_for_later():
            if store.is_finished():
                with FileSwapper(tree, journal, store) as placing:
                    _clean(placing, journal, store)
            elif recorded(journal):
                with FileSwapper(tree, journal, store, resumed=True) as placing:
                    conflicts = _carry_out(placing, journal, store, on_conflict)
                outcome = "conflict" if conflicts else "completed"
            else:
                with FileSwapper(tree, journal, store, resumed=True) as placing:
                    conflicts = _take_back(placing, journal)
                outcome = "undone"
                store.clear()
        return Recovery(outcome=outcome, journal=journal, conflicts=tuple(conflicts))


@contextmanager
def _left_for_later() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "free the disk or the file; the next command completes or undoes the change"
        raise DiskError(f"the change set was interrupted: {error}", hint=hint) from error


def _contents(prepared: PreparedChanges) -> dict[str, bytes]:
    """New texts and backups by their names in the journal."""
    found: dict[str, bytes] = {}
    for number, write in enumerate(prepared.writes):
        for content, suffix in ((write.result, "new"), (write.ours, "old")):
            if content is not None:
                found[f"{number}.{suffix}"] = content
    return found


def _journal(prepared: PreparedChanges, note: Mapping[str, str]) -> Journal:
    entries = [
        JournalEntry(
            number=number,
            path=spell_path(write.path),
            ours=write.ours_sha,
            result=None if write.result is None else hashlib.sha256(write.result).hexdigest(),
            mode=write.mode,
        )
        for number, write in enumerate(prepared.writes)
    ]
    above = {
        "/".join(parts[:count])
        for parts in (write.path.split("/") for write in prepared.writes)
        for count in range(1, len(parts))
    }
    missing = [spell_path(path) for path in sorted(above) if not (prepared.root / path).exists()]
    return new_journal(prepared.root, entries, missing, note)


def _carry_out(
    placing: FileSwapper, journal: Journal, store: JournalFolder, on_conflict: OnConflict
) -> list[FileConflict]:
    found = _first_problem(placing, journal)
    if found is None:
        store.finish()
        _clean(placing, journal, store)
        return []
    problem, refused = found
    conflicts = [problem, *_take_back(placing, journal)]
    on_conflict(conflicts)
    store.clear()
    if refused is not None:
        raise DiskError(f"{problem.path}: {problem.detail}", hint=_FREE) from refused
    return conflicts


def _first_problem(
    placing: FileSwapper, journal: Journal
) -> tuple[FileConflict, OSError | None] | None:
    """Which file cannot take its change, and the error where the disk is the reason."""
    # the second look finds editors that wrote through a handle they had open
    for step in (placing.put_in_place, placing.check):
        for entry in journal.entries:
            refused = None
            try:
                detail = step(entry)
            except OSError as error:
                refused, detail = error, f"it cannot be written: {error.strerror}"
            if detail:
                return FileConflict(path=unspell_path(entry.path), detail=detail), refused
    return None


def _take_back(placing: FileSwapper, journal: Journal) -> list[FileConflict]:
    kept: list[FileConflict] = []
    for entry in reversed(journal.entries):
        detail = placing.take_back(entry)
        if detail:
            kept.append(FileConflict(path=unspell_path(entry.path), detail=detail))
    placing.remove_folders()
    return kept


def _clean(placing: FileSwapper, journal: Journal, store: JournalFolder) -> None:
    for entry in journal.entries:
        placing.remove_waiting(entry)
    store.clear()
