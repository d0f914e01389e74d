"""Transaction that writes a change to the user's tree. It is atomic, even if the process is
killed.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from remora.errors import Conflict, DiskError
from remora.ids import escape_path, unescape_path
from remora.workspaces.apply.file_swap import FileSwapper
from remora.workspaces.apply.journal import (
    Journal,
    JournalEntry,
    JournalFolder,
    belongs_to,
    new_journal,
)
from remora.workspaces.apply.merge_change_set import FileConflict, PreparedChanges
from remora.workspaces.rooted_files import RootedFiles

_FREE = "nothing was written; free disk space, then accept the change again"
Outcome = Literal["none", "completed", "undone", "conflict"]
OnConflict = Callable[[Sequence[FileConflict]], None]
"""Records the files whose change could not be written."""


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the recovery from a journal that a killed process left behind."""

    outcome: Outcome
    """`undone` if the journal's review had not been recorded, and `conflict` if the changes could
    not be applied and were rolled back."""
    journal: Journal | None = None
    """The journal, if there was one."""
    conflicts: tuple[FileConflict, ...] = ()
    """The files with other content, which was kept."""


def write_changes(
    prepared: PreparedChanges,
    journal_folder: Path,
    *,
    record: Callable[[], None],
    note: Mapping[str, str] = {},
    on_conflict: OnConflict = lambda _: None,
) -> list[FileConflict]:
    """Write a prepared change set. Either all of its files are written or none.

    `record` must append and sync the review. It is called after the journal is safely on disk and
    before the first file is changed. `note` identifies the review for `recover_journal`.

    If a file has changed in the meantime, the written files are rolled back, and the conflicts are
    passed to `on_conflict` and returned. `on_conflict` is called before the journal is removed, so
    that the verdict is recorded first.

    Raises Conflict if `prepared` contains conflicts, another process is writing, or an earlier
    journal is left over, and DiskError if a file cannot be written. Exceptions from `record` are
    not caught, and the journal is then left in place, because only the stream shows whether the
    review was recorded.
    """
    if prepared.conflicts:
        paths = ", ".join(conflict.path for conflict in prepared.conflicts)
        raise Conflict(f"nothing was written; conflicting files: {paths}")
    store = JournalFolder(journal_folder)
    with store.locked():
        if store.read() is not None:
            raise Conflict(
                "an earlier accept or revert was interrupted",
                hint="run `remora show` to complete or undo it, then run this command again",
            )
        journal = _journal(prepared, note)
        try:
            store.write(journal, _contents(prepared))
        except OSError as error:
            raise DiskError(f"cannot write a journal in {journal_folder}: {error}") from error
        record()
        swapper = FileSwapper(RootedFiles(prepared.root), journal, store)
        with _interruptions_as_disk_errors(), swapper:
            return _apply_journal(swapper, journal, store, on_conflict)


def recover_journal(
    journal_folder: Path,
    root: Path,
    *,
    recorded: Callable[[Journal], bool],
    on_conflict: OnConflict = lambda _: None,
) -> Recovery:
    """Complete or undo the journal that a killed process left behind.

    The journal is completed if `recorded` returns True, which means that its review is the latest
    verdict on its change set. Otherwise it is undone. If the recovery itself is interrupted, it can
    be repeated. Raises Conflict if the journal is in use or belongs to another root, and DiskError
    if it is damaged.
    """
    store = JournalFolder(journal_folder)
    with store.locked():
        if (journal := store.read()) is None:
            return Recovery(outcome="none")
        tree = RootedFiles(root.resolve())
        if not belongs_to(journal, tree.root):
            raise Conflict(
                f"the journal in {journal_folder} does not belong to {root}",
                hint="check the files it lists, then remove this folder",
            )
        conflicts: Sequence[FileConflict] = ()
        outcome: Outcome = "completed"
        swapper = FileSwapper(tree, journal, store, resumed=True)
        with _interruptions_as_disk_errors(), swapper:
            if store.is_finished():
                _clean(swapper, journal, store)
            elif recorded(journal):
                conflicts = _apply_journal(swapper, journal, store, on_conflict)
                outcome = "conflict" if conflicts else "completed"
            else:
                conflicts, outcome = _roll_back(swapper, journal), "undone"
                store.clear()
        return Recovery(outcome=outcome, journal=journal, conflicts=tuple(conflicts))


@contextmanager
def _interruptions_as_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = (
            "free disk space or make the file writable; the next command "
            "completes or undoes the change"
        )
        raise DiskError(f"a change was only partially written: {error}", hint=hint) from error


def _contents(prepared: PreparedChanges) -> dict[str, bytes]:
    """Return the new contents and the backups, keyed by their names in the journal."""
    return {
        f"{number}.{suffix}": content
        for number, write in enumerate(prepared.writes)
        for content, suffix in ((write.result, "new"), (write.ours, "old"))
        if content is not None
    }


def _journal(prepared: PreparedChanges, note: Mapping[str, str]) -> Journal:
    entries = [
        JournalEntry(
            number=number,
            path=escape_path(write.path),
            ours=write.ours_sha,
            result=None if write.result is None else hashlib.sha256(write.result).hexdigest(),
            mode=write.mode,
        )
        for number, write in enumerate(prepared.writes)
    ]
    folders = {
        "/".join(parts[:count])
        for parts in (write.path.split("/") for write in prepared.writes)
        for count in range(1, len(parts))
    }
    missing = [escape_path(path) for path in sorted(folders) if not (prepared.root / path).exists()]
    return new_journal(prepared.root, entries, missing, note)


def _apply_journal(
    swapper: FileSwapper, journal: Journal, store: JournalFolder, on_conflict: OnConflict
) -> list[FileConflict]:
    problem = _first_problem(swapper, journal)
    if problem is None:
        store.finish()
        _clean(swapper, journal, store)
        return []
    conflicts = [problem.conflict, *_roll_back(swapper, journal)]
    on_conflict(conflicts)
    store.clear()
    if problem.error is not None:
        message = f"{problem.conflict.path}: {problem.conflict.detail}"
        raise DiskError(message, hint=_FREE) from problem.error
    return conflicts


class _Problem(NamedTuple):
    """A file that cannot be changed."""

    conflict: FileConflict
    error: OSError | None
    """The disk error that prevented the change, or None for any other cause."""


def _first_problem(swapper: FileSwapper, journal: Journal) -> _Problem | None:
    """Put all files in place. Return the first one that cannot be changed, or None."""
    # the second pass detects writes by editors that had the file open
    for step in (swapper.put_in_place, swapper.check):
        for entry in journal.entries:
            refusal = None
            try:
                detail = step(entry)
            except OSError as error:
                refusal, detail = error, f"it cannot be written: {error.strerror}"
            if detail:
                conflict = FileConflict(path=unescape_path(entry.path), detail=detail)
                return _Problem(conflict, refusal)
    return None


def _roll_back(swapper: FileSwapper, journal: Journal) -> list[FileConflict]:
    kept = [
        FileConflict(path=unescape_path(entry.path), detail=detail)
        for entry in reversed(journal.entries)
        if (detail := swapper.take_back(entry))
    ]
    swapper.remove_folders()
    return kept


def _clean(swapper: FileSwapper, journal: Journal, store: JournalFolder) -> None:
    for entry in journal.entries:
        swapper.remove_waiting(entry)
    store.clear()
