"""The `review` command and its options. `review_session` implements it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.name_parameters import RUN
from remora.cli.app.options import PATH, Options, command
from remora.errors import UsageError
from remora.ids import LAST

if TYPE_CHECKING:
    from remora.runs.review.pending import GroupBy

_ORDERS: "tuple[GroupBy, ...]" = ("file", "rule", "agent", "owner")


@command(
    "review",
    examples=(
        "remora review",
        "remora review last --by rule",
        "remora review --watched",
        "remora review --repos repos.yaml",
    ),
)
@click.argument("run", type=RUN, default=LAST)
@click.option(
    "--by",
    type=click.Choice(_ORDERS),
    default="file",
    show_default=True,
    help="Group changes by file, rule, agent, or owner according to CODEOWNERS.",
)
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="NAME",
    help="Review only changes whose files belong to NAME in CODEOWNERS; repeatable.",
)
@click.option(
    "--watched", is_flag=True, help="Review the proposals of `remora watch`, of all its runs."
)
@click.option(
    "--repos", type=PATH, metavar="FILE", help="Review a sweep of the repositories in FILE."
)
@click.option(
    "--trust-run", is_flag=True, help="Accept a run that this installation did not start."
)
def review(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    run: str,
    by: "GroupBy",
    owners: tuple[str, ...],
    *,
    watched: bool,
    repos: Path | None,
    trust_run: bool,
) -> int:
    """Review pending changes one by one in a terminal, with one key per verdict.

    Each verdict is recorded immediately, so you can stop at any time and continue later. RUN is a
    run ID, a unique prefix of an ID, or `last` (default). With --repos, `--by file` shows one
    repository after the other, and other groups contain the changes of all repositories. The exit
    code is 1 after a conflict, or if the records of a repository cannot be read.
    """
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "review requires a terminal",
            hint=f"use `remora diff {run}`, then `remora accept {run}` with --all or with nodes",
        )
    if watched:
        from remora.cli.review.review_run import review_watched

        if repos is not None or run != LAST or trust_run:
            raise UsageError("--watched cannot be combined with RUN, --repos or --trust-run")
        return review_watched(options, by, owners)
    if repos is not None:
        from remora.cli.review import review_sweep

        return review_sweep.review(options, repos, run, by, owners, trust_run=trust_run)
    from remora.cli.review.review_run import review_run

    return review_run(options, run, by, owners, trust_run=trust_run)
