"""`accept`, `reject` and `revert`: the commands and their options."""

from typing import Any

import click

from remora.cli.app.names import NODE, RUN
from remora.cli.app.options import Options, command

_every = click.option("--all", "every", is_flag=True, help="Every change set that waits.")
_rules = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="CODE",
    help="Only change sets that mend findings of this rule (or these) and no others.",
)
_conditions = click.option(
    "--if",
    "conditions",
    multiple=True,
    metavar="WORDS",
    help="Only what is verified (as `show` calls it), docstring-only, or both: with a comma.",
)
_trust = click.option(
    "--trust-run", is_flag=True, help="Even if this installation did not start the run."
)


@command(
    "accept",
    examples=("remora accept last --all", "remora accept last load_orders 'src/shop/cart.py:*'"),
)
@click.argument("run", type=RUN)
@click.argument("nodes", type=NODE, metavar="[NODE]...", nargs=-1)
@_every
@_rules
@_conditions
@click.option("--git-branch", metavar="NAME", help="Commit there, from HEAD; your files stay.")
@_trust
def accept(
    options: Options, run: str, nodes: tuple[str, ...], *, git_branch: str | None, **chosen: Any
) -> int:
    """Write verified changes to your files, each change set whole or not at all.

    A file that you edited meanwhile is merged; where both changed the same lines, nothing of
    that change set is written. NODE is path:qualname, a qualname, or a glob. --rule and --if
    narrow what is named, or all that waits.

    With --git-branch each change set becomes a commit, and neither your files nor your index are
    touched. A branch that is there already must contain HEAD, and not be checked out.
    """
    from remora.cli.review import verdicts

    return verdicts.accept(options, run, nodes, git_branch, chosen)


@command(
    "reject",
    examples=("remora reject last load_orders --feedback 'keep the name'",),
)
@click.argument("run", type=RUN)
@click.argument("nodes", type=NODE, metavar="[NODE]...", nargs=-1)
@_every
@_rules
@_conditions
@click.option("--feedback", metavar="TEXT", help="Why; it is recorded with the verdict.")
@_trust
def reject(
    options: Options, run: str, nodes: tuple[str, ...], *, feedback: str | None, **chosen: Any
) -> int:
    """Say no to changes; nothing of yours is touched, and the record stays."""
    from remora.cli.review import verdicts

    return verdicts.reject(options, run, nodes, feedback, chosen)


@command("revert", examples=("remora revert last", "remora revert last load_orders 'src/shop/*'"))
@click.argument("run", type=RUN)
@click.argument("nodes", type=NODE, metavar="[NODE]...", nargs=-1)
@_trust
def revert(options: Options, run: str, nodes: tuple[str, ...], *, trust_run: bool) -> int:
    """Take accepted changes out of your files again, each change set whole or not at all.

    Without NODE: all that was accepted of the run. What you edited since stays; where it cannot
    be told from the change, nothing of that change set is taken back.
    """
    from remora.cli.review import verdicts

    return verdicts.revert(options, run, nodes, trust_run=trust_run)
