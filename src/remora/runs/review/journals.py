"""What a killed command left of a change set on its way into the user's files."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from remora.errors import NotFound
from remora.memory.events import Review
from remora.runs.project import Project
from remora.runs.records.run_stream import opened_run
from remora.trace.read.reader import read_events, typed_payload
from remora.workspaces.apply.journal import Journal
from remora.workspaces.apply.transaction import FileConflict, Recovery, recover_journal

_EARLIER = {"verdict": "accepted", "otherwise": "conflict"}
"""What the note of a journal meant before it said so."""


def journal_note(
    review: Review, node_id: str, run_id: str, seq: int, otherwise: str
) -> dict[str, str]:
    """By which `complete_journals` knows a journal's review: the verdict that was recorded, and
    the one that takes its place where a file moved on."""
    return {
        "run_id": run_id,
        "agent_id": review.agent_id,
        "node_id": node_id,
        "seq": str(seq),
        "verdict": review.verdict,
        "otherwise": otherwise,
    }


def complete_journals(project: Project) -> Recovery:
    """Finish, or take back, what a killed `accept` or `revert` had begun."""

    left: list[Journal] = []

    def recorded(journal: Journal) -> bool:
        left.append(journal)
        return _recorded(project, journal)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        note = _EARLIER | left[0].note
        review = last_review(project, note)
        if review is None:  # only recorded reviews are carried out
            return
        detail = details(note["node_id"], found)
        with opened_run(project, note["run_id"]) as stream:
            stream.append(msgspec.structs.replace(review, verdict=note["otherwise"], detail=detail))

    return recover_journal(
        project.state / "journal", project.root, recorded=recorded, on_conflict=on_conflict
    )


def last_review(project: Project, note: dict[str, str]) -> Review | None:
    """The last review of the note's change set, if none came after the note's own."""
    found: list[tuple[int, Review]] = []
    with suppress(NotFound):  # where the records were deleted nothing was accepted
        for event in read_events(project.trace.run_stream(note["run_id"])):
            data = typed_payload(event) if event.type == Review.type else None
            if isinstance(data, Review) and data.agent_id == note["agent_id"]:
                found.append((event.seq, data))
    return found[-1][1] if found and found[-1][0] == int(note["seq"]) else None


def details(node_id: str, found: Sequence[FileConflict]) -> list[dict[str, Any]]:
    """Conflicts as documents and events tell them."""
    return [{"node_id": node_id, "path": c.path, "detail": c.detail} for c in found]


def _recorded(project: Project, journal: Journal) -> bool:
    """Whether the review that the journal belongs to is the last word on its change set: another
    may have been recorded before the journal could be removed."""
    review = last_review(project, journal.note)
    return review is not None and review.verdict == (_EARLIER | journal.note)["verdict"]
