"""Recovery from journals that killed commands left behind."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from remora.errors import Conflict, DiskError, NotFound
from remora.memory.events import Review
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.run_stream import open_run
from remora.statuses import ACCEPTED, CONFLICT, REOPENED, REVERTED
from remora.trace.read.reader import read_events, typed_payload
from remora.workspaces.apply.journal import Journal
from remora.workspaces.apply.merge_change_set import FileConflict
from remora.workspaces.apply.transaction import Recovery, recover_journal


class JournalNote(msgspec.Struct, frozen=True, kw_only=True):
    """The note of a journal, which names the review that the journal belongs to."""

    run_id: str
    agent_id: str
    node_id: str
    seq: str
    """The number of the review's event."""
    verdict: str
    """The recorded verdict."""
    otherwise: str
    """The verdict to record if there is a conflict."""


def recover(project: Project) -> list[str]:
    """Complete or undo an interrupted `accept` or `revert`, and return messages for the user.

    If another `accept` is running, this does nothing.
    """
    try:
        left = complete_journals(project)
    except Conflict:
        return []
    notes = [recovery_text(left), *(f"{file.path}: {file.detail}" for file in left.conflicts)]
    return [note for note in notes if note]


def complete_journals(project: Project) -> Recovery:
    """Complete or roll back the changes of an interrupted `accept` or `revert`.

    Raises DiskError if the journal is damaged. Nothing is changed then.
    """

    left: list[Journal] = []

    def recorded(journal: Journal) -> bool:
        left.append(journal)
        return _is_recorded(project, journal)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        note = _read_note(project, left[0])
        last = _find_last_review(project, note)
        if last is None:  # without a recorded review there is nothing to replace
            return
        detail = details(note.node_id, found)
        review = msgspec.structs.replace(last, verdict=note.otherwise, detail=detail)
        if last.verdict == ACCEPTED:  # all of it is pending, even what was accepted before
            review = msgspec.structs.replace(
                review, verdict=CONFLICT, written=None, left=(), present=()
            )
        with open_run(project, note.run_id) as stream:
            stream.append(review)

    return recover_journal(
        project.state / "journal", project.root, recorded=recorded, on_conflict=on_conflict
    )


def recovery_text(left: Recovery) -> str:
    """Return a message about an interrupted `accept` or `revert`.

    Returns an empty string if no command was interrupted.
    """
    if left.journal is None:
        return ""
    note = left.journal.note
    paths = ", ".join(entry.path for entry in left.journal.entries) or "no file"
    what = "revert" if note.get("verdict") in (REVERTED, REOPENED) else "accept"
    match left.outcome:
        case "completed":
            return f"`{what}` was interrupted; its changes are now complete: {paths}"
        case "conflict":
            return (
                f"`{what}` was interrupted and files changed afterwards; nothing was written to "
                f"{paths}; `remora show {note.get('run_id', 'last')}` shows the conflict"
            )
    return (
        f"`{what}` was interrupted before it was recorded; nothing was written to {paths}, so "
        f"run it again"
    )


def _find_last_review(project: ProjectRecords, note: JournalNote) -> Review | None:
    """Return the review that a journal's note refers to.

    Returns None if the review was not recorded, or if its change set was reviewed again later.
    """
    found: dict[int, Review] = {}
    with suppress(NotFound):  # without records, no review was recorded
        for event in read_events(project.trace.run_stream(note.run_id)):
            data = typed_payload(event) if event.type == Review.type else None
            if isinstance(data, Review) and data.agent_id == note.agent_id:
                found[event.seq] = data
    last = max(found, default=None)
    return found[last] if last is not None and str(last) == note.seq else None


def details(node_id: str, found: Sequence[FileConflict]) -> list[dict[str, Any]]:
    """Return the conflicts in the format of documents and events."""
    return [
        {"node_id": node_id, "path": conflict.path, "detail": conflict.detail} for conflict in found
    ]


def _is_recorded(project: ProjectRecords, journal: Journal) -> bool:
    """Return True if the journal's review is the latest review of its change set.

    Another review may have been recorded before the journal was removed.
    """
    note = _read_note(project, journal)
    last = _find_last_review(project, note)
    return last is not None and last.verdict == note.verdict


def _read_note(project: ProjectRecords, journal: Journal) -> JournalNote:
    try:
        return msgspec.convert(journal.note, JournalNote)
    except msgspec.ValidationError as error:
        raise DiskError(
            f"the journal in {project.state / 'journal'} is damaged: {error}",
            hint="check the files it lists, then remove this folder",
        ) from error
