"""What becomes of a run's changes: `accept` and `reject`."""

from collections.abc import Iterator
from contextlib import suppress

import click
import msgspec

from remora.cli.options import Options, command
from remora.cli.output import count, emit, note, plain, room, wrapped
from remora.cli.session import again, project_of
from remora.cli.summary import anew
from remora.errors import RemoraError
from remora.runs import review
from remora.runs.collisions import collides_with
from remora.runs.names import run_named
from remora.runs.project import Project
from remora.runs.results import jobs_named, read_run
from remora.runs.review import Verdicts

_every = click.option("--all", "every", is_flag=True, help="Every change set that waits.")
_trust = click.option(
    "--trust-run", is_flag=True, help="Even if this installation did not start the run."
)


@command(
    "accept",
    examples=("remora accept last --all", "remora accept last load_orders 'src/shop/cart.py:*'"),
)
@click.argument("run")
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@_every
@_trust
def accept(
    options: Options, run: str, nodes: tuple[str, ...], *, every: bool, trust_run: bool
) -> int:
    """Write verified changes to your files, each change set whole or not at all.

    A file that you edited meanwhile is merged; where both changed the same lines, nothing of
    that change set is written. NODE is path:qualname, a qualname, or a glob.
    """
    project = project_of(options)
    name = run_named(project.trace, run)
    done = review.accept(project, name, nodes, every=every, trusted=trust_run)
    for text in (*done.notes, *done.damaged):
        note(options, text)
    if any(": new finding " in text for text in done.notes):
        redo = again(options, project.root, "analyze")
        note(options, f"changes that were made apart left these; `{redo}` looks at them anew")
    document = {
        "run_id": done.run_id,
        "accepted": done.accepted,
        "conflicts": done.conflicts,
        "head": msgspec.to_builtins(done.head),
        **({"damaged": done.damaged} if done.damaged else {}),
    }
    emit(options, document, _accepted(options, project, done))
    return 1 if done.conflicts or done.damaged else 0


@command(
    "reject",
    examples=("remora reject last load_orders --feedback 'keep the name'",),
)
@click.argument("run")
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@_every
@click.option("--feedback", metavar="TEXT", help="Why; it is recorded with the verdict.")
@_trust
def reject(
    options: Options,
    run: str,
    nodes: tuple[str, ...],
    *,
    every: bool,
    feedback: str | None,
    trust_run: bool,
) -> int:
    """Say no to changes; nothing of yours is touched, and the record stays."""
    project = project_of(options)
    name = run_named(project.trace, run)
    done = review.reject(project, name, nodes, every=every, feedback=feedback, trusted=trust_run)
    document = {
        "run_id": done.run_id,
        "rejected": done.rejected,
        "head": msgspec.to_builtins(done.head),
    }
    emit(options, document, _rejected(done))
    return 0


def _accepted(options: Options, project: Project, done: Verdicts) -> Iterator[str]:
    if not done.accepted and not done.conflicts:
        yield "no change set waits"
    yield from _named("accepted", "green", done.accepted)
    if done.conflicts:
        yield click.style(f"{count(len(done.conflicts), 'conflict')}, not written:", fg="yellow")
    nodes = dict.fromkeys(conflict["node_id"] for conflict in done.conflicts)
    for node in nodes:
        yield from _conflict(options, project, done, node)
    yield from _head(done)


def _conflict(options: Options, project: Project, done: Verdicts, node: str) -> Iterator[str]:
    """Where a change set collided, with what, and how to get the change all the same."""
    yield plain(f"  {node.removeprefix('node:')}")
    for found in done.conflicts:
        if found["node_id"] == node:
            yield from _indented(f"{found['path']}: {found['detail']}")
    view = read_run(project, done.run_id)
    for job in jobs_named(view, node):
        if job.review == "conflict":
            with suppress(RemoraError):  # what the others changed may be gone from `objects/`
                for other in collides_with(project, view, job):
                    name = other.removeprefix("node:")
                    yield from _indented(f"the accepted change set of {name} is in the way")
            yield f"    next: {anew(options, project, view, (job.operation, node))}"
        elif job.review == "stale":
            words = "retry", done.run_id, plain(node.removeprefix("node:"))
            yield f"    next: {again(options, project.root, *words)}"


def _indented(text: str) -> Iterator[str]:
    width = room()
    yield from (f"    {line}" for line in wrapped(plain(text), width and width - 4))


def _rejected(done: Verdicts) -> Iterator[str]:
    if not done.rejected:
        yield "no change set waits"
    yield from _named("rejected", "yellow", done.rejected)
    yield from _head(done)


def _named(verdict: str, colour: str, nodes: list[str]) -> Iterator[str]:
    if nodes:
        yield click.style(f"{verdict} {count(len(nodes), 'change set')}:", fg=colour)
    for node in nodes:
        yield plain(f"  {node.removeprefix('node:')}")


def _head(done: Verdicts) -> Iterator[str]:
    """The run's head: whoever keeps it can tell later that the record was not cut."""
    told = f"recorded as line {done.head.count} of run {done.run_id}"
    yield from wrapped(f"{told}; keep its hash to prove that nothing was cut later:", room())
    yield f"head {done.head.count} {done.head.hash}"
