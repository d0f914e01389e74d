"""`analyze`: the command and its options; `start_run` carries it out."""

from math import isnan
from typing import Any

import click

from remora.cli.app.names import OPERATION, RUN
from remora.cli.app.options import PATH, Options, command

_POSITIVE = click.IntRange(min=1, max=1_000_000)
_SEED = click.IntRange(min=0, max=2**32 - 2)  # llama.cpp's range; its last number means "any"


def _number(_context: click.Context, _parameter: click.Parameter, value: float | None) -> Any:
    if value is not None and isnan(value):
        raise click.BadParameter("not a number")
    return value


@command(
    "analyze",
    examples=(
        "remora analyze src/ -o lint",
        "remora analyze --changed=main --unsafe-fixes",
        "remora analyze --node 'shop/*:load_*' --model http://127.0.0.1:8080/v1",
        "remora analyze --dry-run --json",
        "remora analyze --resume last",
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
@click.option(
    "-o", "--operation", "operations", type=OPERATION, metavar="OP", multiple=True,
    help="What to do; may be repeated. lint and docstring if left out; `remora agents list` names "
    "all.",
)  # fmt: skip
@click.option("--node", metavar="GLOB", help="Only nodes whose path:qualname or qualname fits.")
@click.option(
    "--changed", is_flag=False, flag_value="", metavar="[REV]",
    help="Only nodes that differ from a git revision (HEAD if none is given: put it last, or "
    "write --changed=REV).",
)  # fmt: skip
@click.option("--max-nodes", type=_POSITIVE, metavar="N", help="Work on the first N at most.")
@click.option("-y", "--yes", is_flag=True, help="Go on even with more than 200 jobs.")
@click.option("--model", "model", metavar="M", help="A model's name, or a server's address.")
@click.option("--concurrency", type=_POSITIVE, metavar="N", help="Jobs at one time.")
@click.option(
    "--engine", type=click.Choice(["local"]), default="local", show_default=True,
    help="Where the jobs run.",
)  # fmt: skip
@click.option("--unsafe-fixes", is_flag=True, help="Let the model choose unsafe fixes too.")
@click.option(
    "--allow-unsandboxed", is_flag=True,
    help="Consent to run the project's code where its isolation is below level 2.",
)  # fmt: skip
@click.option("--max-turns", type=_POSITIVE, metavar="N", help="Turns of one job at most.")
@click.option(
    "--max-time", type=click.FloatRange(min=0, min_open=True), callback=_number, metavar="S",
    help="Stop after S seconds; jobs under way are then interrupted.",
)  # fmt: skip
@click.option("--seed", type=_SEED, metavar="N", help="For sampling and for tools.")
@click.option("--dry-run", is_flag=True, help="Only plan; no model is needed.")
@click.option(
    "--resume", type=RUN, metavar="RUN",
    help="Go on with a run that was interrupted: what is done stays done. With --model, "
    "--concurrency and --max-time only.",
)  # fmt: skip
@click.option(
    "--trust-run", is_flag=True,
    help="With --resume: even if this installation did not start the run.",
)  # fmt: skip
def analyze(options: Options, **asked: Any) -> int:
    """Plan the jobs, run them, and show what they would change.

    Each function, class and module under PATH (default: the whole project) that needs work
    becomes a job with an agent of its own, on a private copy. Nothing of yours is touched:
    `remora accept` does that. Ctrl-C is safe at any time: --resume does the rest.
    """
    from remora.cli.run.start_run import start_run

    return start_run(options, asked)
