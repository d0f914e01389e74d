"""`review`: the command and its options; `review_session` carries it out."""

import sys

import click

from remora.cli.app.names import RUN
from remora.cli.app.options import Options, command
from remora.errors import UsageError
from remora.runs.records.name_lookup import LAST
from remora.runs.review.pending import ORDERS, By


@command("review", examples=("remora review", "remora review last --by rule"))
@click.argument("run", type=RUN, default=LAST)
@click.option(
    "--by", type=click.Choice(ORDERS), default="file", help="What belongs together. [file]"
)
@click.option("--trust-run", is_flag=True, help="Even if this installation did not start the run.")
def review(options: Options, run: str, by: By, *, trust_run: bool) -> int:
    """Go through the change sets that wait, on a terminal: look at each, and press a key.

    Each verdict is recorded at once, so that you may stop anywhere; the next time goes on with
    what still waits. RUN is a run's name, the beginning of one, or `last`, as it is without one.
    """
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "review asks on a terminal, and this is none",
            hint=f"`remora diff {run}` shows, `remora accept {run}` and `remora reject {run}` decide",
        )
    from remora.cli.review.review_session import review_run

    return review_run(options, run, by, trust_run=trust_run)
