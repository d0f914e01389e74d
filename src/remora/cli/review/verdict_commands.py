"""The `review`, `accept`, `reject` and `revert` commands and their options."""

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import Options, command, rule_option, trust_option
from remora.cli.app.output import note, print_failure
from remora.cli.app.project_context import next_command, project_of
from remora.cli.app.working import working
from remora.errors import RemoraError, UsageError
from remora.ids import LAST, display_name
from remora.text import count, escape_line, some_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remora.cli.review.review_session import Review
    from remora.runs.review.pending import GroupBy
    from remora.usecases.review.verdicts import Chosen

_NAMED = 5
"""Changes that a question names (decision)."""
_RUN = click.argument("run")
_NODES = click.argument("nodes", metavar="[NODE]...", nargs=-1)
_CHOOSING = (
    _RUN,
    _NODES,
    click.option("--all", "every", is_flag=True, help="Select all pending changes."),
    rule_option,
    click.option(
        "--if",
        "only_if",
        multiple=True,
        metavar="WORDS",
        help="Select changes that are verified, docstring-only, or both (comma-separated).",
    ),
    trust_option,
)


def choose_changes(function: Callable[..., int]) -> Callable[..., int]:
    """Add what chooses changes to a command, and pass the options' values as `chosen`."""

    @functools.wraps(function)
    def command(
        options: Options,
        *,
        every: bool,
        rules: tuple[str, ...],
        only_if: tuple[str, ...],
        trust_run: bool,
        **others: Any,
    ) -> int:
        from remora.usecases.review.verdicts import Chosen

        chosen = Chosen(every=every, rules=rules, only_if=only_if, trust_run=trust_run)
        return function(options, chosen, **others)

    for option in reversed(_CHOOSING):
        command = option(command)
    return command


@command(
    "accept",
    examples=(
        "remora accept last --all",
        "remora accept last load_orders 'src/shop/cart.py:*'",
        "remora accept last load_orders --hunk 1 --hunk 3",
        "remora accept last --if verified --git-branch remora/fixes",
        "remora accept last --rule F401 --pr",
    ),
)
@choose_changes
@click.option(
    "--hunk",
    "hunks",
    type=int,
    multiple=True,
    metavar="NUMBER",
    help="Accept only this hunk of the change of NODE; repeatable.",
)
@click.option(
    "--git-branch", metavar="NAME", help="Commit to this branch instead of writing files."
)
@click.option("--pr", is_flag=True, help="Prepare a pull request: a branch, and its text.")
@click.option("--untested", is_flag=True, help="Also accept code that no test ran with.")
def accept(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    chosen: "Chosen",
    *,
    run: str,
    nodes: tuple[str, ...],
    hunks: tuple[int, ...],
    git_branch: str | None,
    pr: bool,
    untested: bool,
) -> int:
    """Write verified changes to your files.

    If you edited a file after the run, your edits are merged. Groups of hunks that overlap with
    them are not written. NODE is path:qualname, a qualname, or a glob. --rule and --if filter the
    given nodes, or all pending changes if no node is given. The exit code is 1 if something that
    was selected was not written, such as code that no test ran with. In a terminal, you are asked.

    If the nodes, --rule or --hunk select some hunks of a change, these are written if they pass
    the agent's checks, and the others stay pending. `remora diff RUN NODE` shows their numbers and
    rules in a terminal.

    With --git-branch, each change becomes a commit on that branch, starting from HEAD. Your
    files and your index do not change. If the branch exists, it must contain HEAD or be merged into
    it, and must not be checked out.

    --pr names the branch unless --git-branch does, and writes the text of a pull request to a file.
    Nothing is sent: it prints the commands to run. It makes no new branch if as many of Remora's as
    `review.max_open_branches` are not merged into HEAD.
    """
    if hunks and (len(nodes) != 1 or git_branch or pr or chosen):
        raise UsageError(
            "--hunk needs exactly one NODE, and cannot be combined with --git-branch, --pr or "
            "other options that select changes",
            hint="use `remora accept RUN NODE --hunk 1`",
        )
    from remora.cli.app.working import accept_progress
    from remora.cli.review.verdicts import print_accepted
    from remora.usecases.review import verdicts
    from remora.usecases.review.pull_request import branch_for, with_pull_request

    project, announce = project_of(options), functools.partial(note, options)
    may_write = functools.partial(_may_write_untested, options, untested)
    if hunks:
        from remora.usecases.review import accept_part  # imports the judgement of parts

        done = accept_part.accept_hunks(
            run,
            nodes[0],
            hunks,
            root=project,
            trust_run=chosen.trust_run,
            announce=announce,
            may_write=may_write,
        )
        return print_accepted(options, project, done)
    branch = branch_for(project, run, nodes, chosen, git_branch) if pr else git_branch
    try:
        with accept_progress(options) as pace:
            done = verdicts.accept(
                run,
                *nodes,
                every=chosen.every,
                rules=chosen.rules,
                only_if=chosen.only_if,
                git_branch=branch,
                root=project,
                trust_run=chosen.trust_run,
                progress=pace,
                announce=announce,
                may_write=may_write,
            )
    except KeyboardInterrupt:
        show = next_command(options, project.root, "show", run)
        note(options, f"changes accepted before the interruption are kept; `{show}` lists them")
        raise
    done = with_pull_request(project, done, done.branch) if pr and done.branch else done
    return print_accepted(options, project, done, branch)


def _may_write_untested(options: Options, untested: bool, names: "Sequence[str]", why: str) -> bool:
    is_asked = sys.stdin.isatty() and sys.stdout.isatty() and not (options.json or options.quiet)
    question = f"No test ran with {some_of(names, _NAMED)} ({why}). Accept anyway?"
    return untested or (is_asked and click.confirm(escape_line(question)))


@command("reject", examples=("remora reject last load_orders --feedback 'keep the name'",))
@choose_changes
@click.option("--feedback", metavar="TEXT", help="Reason to record with the verdict.")
def reject(
    options: Options, chosen: "Chosen", *, run: str, nodes: tuple[str, ...], feedback: str | None
) -> int:
    """Reject changes. Your files stay unchanged, and the record is kept.

    Single hunks are rejected in `review`.
    """
    from remora.cli.review.verdicts import print_rejected
    from remora.usecases.review import verdicts

    project = project_of(options)
    done = verdicts.reject(
        run,
        *nodes,
        every=chosen.every,
        rules=chosen.rules,
        only_if=chosen.only_if,
        feedback=feedback,
        root=project,
        trust_run=chosen.trust_run,
    )
    return print_rejected(options, project, done, why=bool(feedback))


@command("revert", examples=("remora revert last", "remora revert last load_orders 'src/shop/*'"))
@_RUN
@_NODES
@trust_option
def revert(options: Options, run: str, nodes: tuple[str, ...], *, trust_run: bool) -> int:
    """Undo accepted changes, or the rejection of NODE.

    Each change is undone completely or not at all. Without NODE, everything that was accepted
    from the run is undone. Your later edits are kept. If they overlap with a change, that
    change is not undone, and the exit code is 1. If NODE was rejected, its change is pending
    again, and later runs propose it again.
    """
    from remora.cli.review.verdicts import print_reverted
    from remora.usecases.review import revert as reverting

    project = project_of(options)
    with working(options, "taking changes back"):
        done = reverting.revert(run, *nodes, root=project, trust_run=trust_run)
    return print_reverted(options, project, done, is_named=bool(nodes))


@command("review", examples=("remora review", "remora review last --by rule"))
@click.argument("run", default=LAST)
@click.option(
    "--by",
    type=click.Choice(("file", "rule", "agent")),
    default="file",
    show_default=True,
    help="Group changes by file, rule or agent.",
)
@trust_option
def review(options: Options, run: str, by: "GroupBy", *, trust_run: bool) -> int:
    """Review pending changes one by one in a terminal, with one key per verdict.

    Each verdict is recorded immediately, so you can stop at any time and continue later. RUN is a
    run ID, a unique prefix of an ID, or `last` (default). The exit code is 1 after a conflict, or if
    a record cannot be read.
    """
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "review requires a terminal",
            hint=f"use `remora diff {run}`, then `remora accept {run}` with --all or with nodes",
        )
    from remora.cli.review.review_session import Review
    from remora.runs.records.name_lookup import run_named
    from remora.runs.records.results import own_run

    project = project_of(options)
    run_id = run_named(project.trace, run)
    view = own_run(project, run_id, trusted=trust_run)
    for job in view.damaged:
        note(options, f"{display_name(job.node_id)} is left out: {job.outcome.error}")
    session = Review(options, project, view, by, trust_run)
    grouped = [] if by == "file" else ["--by", by]
    try:
        _decide_changes(session)
    finally:
        _print_summary(session, next_command(options, project.root, "review", run_id, *grouped))
    return int(bool(session.conflicts or view.damaged))


def _decide_changes(session: "Review") -> None:
    """Review until the user quits. An undo is also offered at the end."""
    from remora.cli.review.questions import ask_key

    while True:
        session.decide_all()
        if session.has_quit or not session.steps:
            return
        wants_undo = ask_key("That was the last change. [u]ndo [q]uit ").lower() == "u"
        click.echo("undo" if wants_undo else "")
        try:
            if not wants_undo or not session.take_back():
                return
        except RemoraError as error:
            print_failure(error)
            return


def _print_summary(session: "Review", again: str) -> None:
    """Print what was decided, and the command `again` if changes are still pending."""
    numbers = [f"{number} {what}" for what, number in session.done.items() if number]
    numbers += [count(session.conflicts, "conflict")] if session.conflicts else []
    click.echo(", ".join(numbers) or "no verdicts")
    if left := len(session.pending()):
        click.echo(f"{count(left, 'change')} still pending:")
        click.echo(f"  {again}")
