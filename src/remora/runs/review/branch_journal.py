"""A commit on its way onto a branch: what is kept so that a killed command's is finished, or not
made at all."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import DiskError, NotFound, OutsideError
from remora.ids import split_node_key, unspell_path
from remora.memory.events import Head
from remora.runs.project import Project
from remora.runs.records.current_attempt import CONFLICT
from remora.runs.records.run_stream import opened_run
from remora.runs.review.journals import details, last_review
from remora.trace.read.reader import read_events
from remora.workspaces.apply.git_branch import Branch, commit_tree, messages_since, move_branch
from remora.workspaces.apply.journal import JournalFolder, sync_path, write_durably
from remora.workspaces.apply.transaction import FileConflict

TRAILER = "Remora-Trace"


class PendingCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The tree is stored already; the trailer is made of the run's head after the review that
    `note` names, as a file's journal does."""

    name: str
    tip: str
    is_new: bool
    tree: str
    message: str
    note: dict[str, str]

    def on(self, root: Path) -> Branch:
        """The branch as it stood."""
        return Branch(root=root, name=self.name, tip=self.tip, is_new=self.is_new, prefix=b"")


def trailer(run_id: str, head: Head) -> str:
    """The line that leads from a commit to the record of how it came about."""
    return f"{TRAILER}: {run_id} {head.count} {head.hash}"


def write_pending(project: Project, pending: PendingCommit) -> None:
    """Keep it, against a power cut too; the journal is held. Raises DiskError."""
    path = _path(project)
    fresh = path.with_suffix(".new")
    try:
        fresh.unlink(missing_ok=True)
        write_durably(fresh, msgspec.json.encode(pending))
        fresh.rename(path)
        sync_path(path.parent)
    except OSError as error:
        raise DiskError(f"cannot write a journal in {path.parent}: {error.strerror}") from error


def remove_pending(project: Project) -> None:
    """It is over. Raises DiskError."""
    try:
        _path(project).unlink(missing_ok=True)
        sync_path(_path(project).parent)
    except OSError as error:
        raise DiskError(f"{_path(project)}: {error.strerror}") from error


def settle(root: Path, pending: PendingCommit, head: Head) -> list[FileConflict]:
    """Commit, and lead the branch there; nothing is done twice. The conflict says so where the
    branch has moved on. Raises OutsideError where git cannot now: the next command tries again.
    """
    branch, line = pending.on(root), trailer(pending.note["run_id"], head)
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
    path, _ = split_node_key(pending.note["node_id"])
    detail = f"the branch {pending.name} was moved meanwhile"
    return [FileConflict(path=unspell_path(path), detail=detail)]


def complete_branch(project: Project) -> str:
    """Finish the commit that a killed `accept --git-branch` had begun, or drop it where its review
    was not recorded; what became of it in words, empty where none was left."""
    if not os.path.lexists(_path(project)):
        return ""
    with JournalFolder(project.state / "journal").locked():
        pending = _read(project)
        if pending is None:
            return ""
        review, head = last_review(project, pending.note), _head(project, pending.note)
        outcome = "undone"
        if review is not None and head is not None and review.branch == pending.name:
            found = settle(project.root, pending, head)
            outcome = "conflict" if found else "completed"
            if found:
                told = details(pending.note["node_id"], found)
                with opened_run(project, pending.note["run_id"]) as stream:
                    again = msgspec.structs.replace(
                        review, verdict=CONFLICT, branch=None, detail=told
                    )
                    stream.append(again)
        remove_pending(project)
        return f"a commit to {pending.name} was interrupted here; it is {outcome} now"


def _read(project: Project) -> PendingCommit | None:
    try:
        return msgspec.json.decode(_path(project).read_bytes(), type=PendingCommit)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        hint = "look at the branch it may name, then remove that file"
        raise DiskError(f"{_path(project)} is damaged: {error}", hint=hint) from error


def _head(project: Project, note: Mapping[str, str]) -> Head | None:
    """The run's head right after the review."""
    with suppress(NotFound):
        for event in read_events(project.trace.run_stream(note["run_id"])):
            if event.seq == int(note["seq"]):
                return Head(count=event.seq + 1, hash=event.hash)
    return None


def _path(project: Project) -> Path:
    return project.state / "journal" / "branch.json"
