"""The `review` command and its options. `review_session` implements it."""

import sys
from typing import TYPE_CHECKING

import click

from remora.cli.app.name_parameters import RUN
from remora.cli.app.options import Options, command
from remora.cli.review.verdict_commands import by_option, owner_option
from remora.errors import UsageError
from remora.ids import LAST

if TYPE_CHECKING:
    from remora.runs.review.pending import GroupBy


@command(
    "review",
    examples=(
        "remora review",
        "remora review last --by rule",
        "remora review --watched",
    ),
)
@click.argument("run", type=RUN, default=LAST)
@by_option
@owner_option
@click.option(
    "--watched", is_flag=True, help="Review the proposals of `remora watch`, of all its runs."
)
@click.option(
    "--trust-run", is_flag=True, help="Accept a run that this installation did not start."
)
def review(
    options: Options,
    run: str,
    by: "GroupBy",
    owners: tuple[str, ...],
    *,
    watched: bool,
    trust_run: bool,
) -> int:
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
    if watched:
        from remora.cli.review.review_run import review_watched

        if run != LAST or trust_run:
            raise UsageError("--watched cannot be combined with RUN or --trust-run")
        return review_watched(options, by, owners)
    from remora.cli.review.review_run import review_run

    return review_run(options, run, by, owners, trust_run=trust_run)
