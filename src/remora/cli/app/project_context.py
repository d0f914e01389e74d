"""The project and the records that a command uses."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.errors import OutsideError
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.runs.project import Project, ProjectRecords
    from remora.trace.trace_folder import TraceFolder


def project_of(options: Options) -> "Project":
    """Return the current project, after completing an interrupted accept."""
    from remora.bootstrap.open_project import open_project

    project = open_project(invocation_of(options))
    complete_journals_of(options, project)
    return project


def recorded_project(options: Options) -> "ProjectRecords":
    """Return the current project for a command that only reads records."""
    from remora.bootstrap.open_project import open_project, open_records

    project = open_records(invocation_of(options))
    if project.has_unfinished_accept:
        complete_journals_of(options, open_project(invocation_of(options)))
    return project


def complete_journals_of(options: Options, project: "Project") -> None:
    """Finish or undo an interrupted accept, and print what was done."""
    if not project.has_unfinished_accept:
        return
    from remora.runs.review.recovery import recover

    for each in recover(project):
        note(options, escape_line(each))


def records_of(options: Options) -> "TraceFolder":
    """Return the project's streams. The configuration is read only if it may name a database.

    Raises DiskError if the folder of the streams is a symbolic link.
    """
    from remora.bootstrap.open_trace import open_trace_folder

    invocation = invocation_of(options)
    return open_trace_folder(invocation, invocation.find_root())


def runs_outside_database(project: "ProjectRecords") -> Path | None:
    """Return `.agentfs/` of a project with a database if it has runs, which are not listed then."""
    own = project.root / ".agentfs"
    return own if project.trace.path != own and (own / "runs").is_dir() else None


def outside_git(root: Path) -> bool:
    """Return True if the folder is not in a git repository, or if git is not installed."""
    from remora.files.git import git_output

    try:
        git_output(root, "rev-parse", "--git-dir")
    except OutsideError:
        return True
    return False


def next_command(options: Options, root: Path, *words: str) -> str:
    """Return a command that the user can run next.

    The command includes `--root` if the project cannot be found from the current directory.
    """
    from remora.files.project_root import find_root

    named = [] if find_root(Path.cwd()) == root else ["--root", str(options.root or root)]
    return shlex.join(["remora", *words, *named])
