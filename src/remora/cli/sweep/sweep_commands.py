"""The commands of the `sweep` group, and their options."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.name_parameters import RUN
from remora.cli.app.options import PATH, Options, command, trust_option
from remora.cli.app.run_options import RunOptions, run_options
from remora.cli.review.verdict_commands import by_option, choosing, owner_option
from remora.errors import UsageError
from remora.ids import LAST

if TYPE_CHECKING:
    from remora.runs.review.pending import GroupBy
    from remora.usecases.review.chosen import Chosen

_file = click.argument("file", metavar="FILE", type=PATH)
_run = click.argument("run", type=RUN, default=LAST)


@command(
    "run",
    examples=(
        "remora sweep run repos.yaml -o lint",
        "remora sweep run repos.yaml --dry-run",
        "remora sweep run repos.yaml --resume last",
    ),
)
@_file
@run_options
@click.option("--full", is_flag=True, help="Also select nodes unchanged since the last sweep.")
def run_(options: Options, run: RunOptions, *, file: Path, full: bool) -> int:
    """Plan and run jobs in the repositories that FILE lists.

    `remora analyze --help` describes the options. The exit code is 1 if a repository failed.
    """
    from remora.cli.sweep.start_sweep import resume_sweep, start_sweep

    if run.resume is None:
        return start_sweep(options, file, run, full=full)
    if full:
        raise UsageError("--full requires a new run")
    return resume_sweep(options, file, run, run.resume)


@command("list", examples=("remora sweep list repos.yaml",))
@_file
def list_(options: Options, file: Path) -> int:
    """List the sweeps of the repositories in FILE, newest last.

    REPOSITORIES is the number of repositories with a record of the run; those that could not be
    planned, or that had not changed, have none. The exit code is 1 if the records of a repository
    cannot be opened.
    """
    from remora.cli.sweep.show_sweep import list_runs

    return list_runs(options, file)


@command("show", examples=("remora sweep show repos.yaml", "remora sweep show repos.yaml --json"))
@_file
@_run
def show(options: Options, file: Path, run: str) -> int:
    """Show a line for each repository.

    The records of jobs are not read. The exit code is 1 if a record cannot be read. Repositories
    without a run do not change it.
    """
    from remora.cli.sweep.show_sweep import show_sweep

    return show_sweep(options, file, run)


@command("diff", examples=("remora sweep diff repos.yaml --color never > sweep.diff",))
@_file
@_run
def diff(options: Options, file: Path, run: str) -> int:
    """Show what a sweep would change, as unified diffs.

    The diffs of each repository follow a line with its name, which `git apply` skips. The exit code
    is 1 if a record cannot be read.
    """
    from remora.cli.sweep.show_sweep import diff_sweep

    return diff_sweep(options, file, run)


@command("report", examples=("remora sweep report repos.yaml > sweep.md",))
@_file
@_run
def report(options: Options, file: Path, run: str) -> int:
    """Write a report of a sweep in Markdown, or in JSON with --json.

    It shows what each repository lacked before and what is left after all verified changes. The
    exit code is 1 if a record cannot be read.
    """
    from remora.cli.sweep.show_sweep import report_sweep

    return report_sweep(options, file, run)


@command("review", examples=("remora sweep review repos.yaml --by rule",))
@_file
@_run
@by_option
@owner_option
@trust_option
def review(
    options: Options,
    file: Path,
    run: str,
    by: "GroupBy",
    owners: tuple[str, ...],
    *,
    trust_run: bool,
) -> int:
    """Review pending changes one by one in a terminal, with one key per verdict.

    It shows one repository after the other. The exit code is 1 after a conflict, or if the records
    of a repository cannot be read.
    """
    from remora.cli.sweep import review_sweep

    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "review requires a terminal", hint="use `remora sweep diff`, then `remora sweep accept`"
        )
    return review_sweep.review(options, file, run, by, owners, trust_run=trust_run)


@command(
    "accept",
    examples=(
        "remora sweep accept repos.yaml --all",
        "remora sweep accept repos.yaml last --if verified --git-branch 'remora/{operation}'",
    ),
)
@_file
@_run
@choosing
@click.option(
    "--git-branch", metavar="NAME", help="Commit to this branch instead of writing files."
)
def accept(
    options: Options, chosen: "Chosen", *, file: Path, run: str, git_branch: str | None
) -> int:
    """Write verified changes to the files of all repositories.

    {operation} in the NAME of a branch is replaced, so that each operation has a branch. The exit
    code is 1 if a selected change was not written.
    """
    from remora.cli.sweep import review_sweep

    return review_sweep.accept(options, file, run, git_branch, chosen)


@command("reject", examples=("remora sweep reject repos.yaml --rule F401",))
@_file
@_run
@choosing
@click.option("--feedback", metavar="TEXT", help="Reason to record with the verdict.")
def reject(
    options: Options, chosen: "Chosen", *, file: Path, run: str, feedback: str | None
) -> int:
    """Reject changes. Files stay unchanged, and the records are kept.

    The exit code is 1 if the records of a repository cannot be read.
    """
    from remora.cli.sweep import review_sweep

    return review_sweep.reject(options, file, run, feedback, chosen)


@command("revert", examples=("remora sweep revert repos.yaml",))
@_file
@_run
@trust_option
def revert(options: Options, file: Path, run: str, *, trust_run: bool) -> int:
    """Undo all accepted changes of a sweep.

    The exit code is 1 if a change was not undone.
    """
    from remora.cli.sweep import review_sweep

    return review_sweep.revert(options, file, run, trust_run=trust_run)
