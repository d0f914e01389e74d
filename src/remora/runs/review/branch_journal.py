"""The journal of a commit to a branch.

If a command is killed, the next command uses the journal to complete or discard the commit.
"""

import os
from pathlib import Path

import msgspec

from remora.errors import DiskError, OutsideError
from remora.ids import display_name, split_node_key, unescape_path
from remora.memory.events import Head
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.run_stream import open_run
from remora.runs.review.journals import JournalNote, details, last_review
from remora.statuses import CONFLICT
from remora.workspaces.apply.git_branch import Branch, commit_tree, messages_since, move_branch
from remora.workspaces.apply.journal import JournalFolder, sync_path, write_durably
from remora.workspaces.apply.transaction import FileConflict

TRAILER = "Remora-Trace"


class PendingCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit to a branch. Its tree is already stored.

    The commit's trailer contains the head of the run after the review that `note` refers to.
    """

    name: str
    tip: str
    is_new: bool
    merged: str = ""
    tree: str
    message: str
    note: JournalNote

    def on(self, root: Path) -> Branch:
        """Return the state of the branch before the commit."""
        return Branch(
            root=root,
            name=self.name,
            tip=self.tip,
            is_new=self.is_new,
            prefix=b"",
            merged=self.merged,
        )


def trailer(run_id: str, head: Head) -> str:
    """Return the trailer line that links a commit to the record of its run."""
    return f"{TRAILER}: {run_id} {head.count} {head.hash}"


def write_pending(project: ProjectRecords, pending: PendingCommit) -> None:
    """Write and sync the journal. The caller must hold the journal's lock.

    Raises DiskError if the journal cannot be written.
    """
    path = _path(project)
    fresh = path.with_suffix(".new")
    try:
        fresh.unlink(missing_ok=True)
        write_durably(fresh, msgspec.json.encode(pending))
        fresh.rename(path)
        sync_path(path.parent)
    except OSError as error:
        raise DiskError(f"cannot write a journal in {path.parent}: {error.strerror}") from error


def remove_pending(project: ProjectRecords) -> None:
    """Remove the journal. Raises DiskError if it cannot be removed."""
    try:
        _path(project).unlink(missing_ok=True)
        sync_path(_path(project).parent)
    except OSError as error:
        raise DiskError(f"{_path(project)}: {error.strerror}") from error


def finish_commit(root: Path, pending: PendingCommit, head: Head) -> list[FileConflict]:
    """Create the commit and move the branch to it, unless this has already been done.

    Returns a conflict if the branch has received another commit since `pending` was created. Raises
    OutsideError if git fails. In this case, the next command tries again.
    """
    branch, line = pending.on(root), trailer(pending.note.run_id, head)
    since = messages_since(branch)
    if since is None:
        try:
            move_branch(branch, commit_tree(branch, pending.tree, f"{pending.message}\n\n{line}\n"))
        except OutsideError:
            since = messages_since(branch)
            if since is None:
                raise
        else:
            return []
    if line in since.splitlines():
        return []
    path, _ = split_node_key(pending.note.node_id)
    detail = f"the branch {pending.name} has moved in the meantime"
    return [FileConflict(path=unescape_path(path), detail=detail)]


def complete_branch(project: Project) -> str:
    """Complete the commit of an interrupted `accept --git-branch`.

    The commit is discarded if its review was not recorded. Returns a message about the outcome, or
    an empty string if there was nothing to do.
    """
    if not os.path.lexists(_path(project)):
        return ""
    with JournalFolder(project.state / "journal").locked():
        pending = _read(project)
        if pending is None:
            return ""
        last = last_review(project, pending.note)
        outcome = f"{_what(pending)} before it was recorded; nothing was committed, so run it again"
        if last is not None and last[0].branch == pending.name:
            found = finish_commit(project.root, pending, last[1])
            outcome = f"{_what(pending)}; its commit has now been created"
            if found:
                outcome = (
                    f"{_what(pending)} and the branch has moved; nothing was committed, and "
                    f"{display_name(pending.note.node_id)} has a conflict; accept again"
                )
                conflict = msgspec.structs.replace(
                    last[0],
                    verdict=CONFLICT,
                    branch=None,
                    detail=details(pending.note.node_id, found),
                )
                with open_run(project, pending.note.run_id) as stream:
                    stream.append(conflict)
        remove_pending(project)
        return outcome


def _what(pending: PendingCommit) -> str:
    return f"`accept --git-branch {pending.name}` was interrupted"


def _read(project: ProjectRecords) -> PendingCommit | None:
    try:
        return msgspec.json.decode(_path(project).read_bytes(), type=PendingCommit)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        hint = "check the branch, then remove this file"
        raise DiskError(f"{_path(project)} is damaged: {error}", hint=hint) from error


def _path(project: ProjectRecords) -> Path:
    return project.state / "journal" / "branch.json"
