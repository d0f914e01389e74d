"""From the global options to the objects that commands work with."""

import shlex
from pathlib import Path

from remora.bootstrap.open_project import open_project
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.errors import Conflict, OutsideError
from remora.files.git import git_output
from remora.files.project_files import find_root
from remora.runs.project import Project
from remora.runs.review.branch_journal import complete_branch
from remora.runs.review.journals import complete_journals
from remora.text import plain
from remora.trace.trace_folder import TraceFolder


def project_of(options: Options) -> Project:
    """The project here. An accept that was killed is completed first."""
    project = open_project(caller_of(options))
    complete(options, project)
    return project


def complete(options: Options, project: Project) -> None:
    """Finish, or take back, what a killed accept had begun, and say so."""
    try:
        left = complete_journals(project)
        _complete_commit(options, project)
    except Conflict:  # an accept is going on just now: nothing was left
        return
    if left.journal is not None:
        paths = ", ".join(entry.path for entry in left.journal.entries)
        what = "a revert" if left.journal.note.get("verdict") == "reverted" else "an accept"
        note(options, f"{what} was interrupted here; it is {left.outcome} now: {paths}")
    for conflict in left.conflicts:
        note(options, plain(f"{conflict.path}: {conflict.detail}"))


def _complete_commit(options: Options, project: Project) -> None:
    """The same for a commit. Where git cannot now, that keeps nobody from looking at records."""
    try:
        told = complete_branch(project)
    except OutsideError as error:
        told = f"a commit was interrupted here, and still waits: {error.message}"
    if told:
        note(options, told)


def records_of(options: Options) -> TraceFolder:
    """The streams here; no configuration is read. Raises DiskError where they lie behind a link."""
    folder = TraceFolder(caller_of(options).find_root())
    folder.check()
    return folder


def outside_git(root: Path) -> bool:
    """Whether git knows nothing of this folder, or there is no git."""
    try:
        git_output(root, "rev-parse", "--git-dir")
    except OutsideError:
        return True
    return False


def again(options: Options, root: Path, *words: str) -> str:
    """A command to type next: it names the root where it would not be found from here."""
    named = [] if find_root(Path.cwd()) == root else ["--root", str(options.root or root)]
    return shlex.join(["remora", *words, *named])
