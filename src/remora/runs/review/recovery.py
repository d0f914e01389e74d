"""Recovery of an `accept`, `revert` or branch commit that was interrupted."""

from remora.errors import Conflict, OutsideError
from remora.runs.project import Project
from remora.runs.review.branch_journal import complete_branch
from remora.runs.review.journals import complete_journals, recovery_text


def recover(project: Project) -> list[str]:
    """Complete or undo an interrupted command, and return messages for the user.

    If another `accept` is running, this does nothing. If git cannot create a commit, the next
    command tries again, and the current command continues so that it can read records.
    """
    try:
        left = complete_journals(project)
    except Conflict:
        return []
    notes = [recovery_text(left), *(f"{each.path}: {each.detail}" for each in left.conflicts)]
    try:
        notes.insert(0, complete_branch(project))
    except Conflict:
        pass
    except OutsideError as error:
        notes.insert(
            0,
            "`accept --git-branch` was interrupted, and its commit cannot be created yet: "
            f"{error.message}; the next command will try again",
        )
    return [note for note in notes if note]
