"""The `hub index` command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, fit_line
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import progress_bar
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.usecases.hub.index import Indexed, Links

_MAX_SHOWN = 20


@command(
    "index",
    examples=(
        "remora hub index",
        "remora hub index --links",
        "remora hub index --root ~/src/shop --json",
    ),
)
@click.option("--links", is_flag=True, help="Also compute all links now (about 1 ms per node).")
def index(options: Options, links: bool) -> int:
    """Update the index: check all files, and read those that have changed.

    If a daemon is running, it updates the index, because only one process can write to the
    database. The daemon computes links when it is idle, and this command does not wait for them.
    Files that can only be partially read are listed, but they do not affect the exit code.
    """
    from remora.usecases.hub.index import index_hub

    with progress_bar(options, "files") as progress, progress_bar(options, "links") as linking:
        made = index_hub(invocation_of(options), progress, links=linking if links else None)
    emit(options, _document(made), _summary(made))
    return 0


def _document(made: "Indexed") -> dict[str, Any]:
    document: dict[str, Any] = {
        "files": made.files,
        "nodes": made.nodes,
        "changed": made.changed,
        "errors": [{"path": error.path, "detail": error.detail} for error in made.errors],
        "seconds": round(made.seconds, 3),
    }
    if made.links is not None:
        failed = [{"key": node.key, "why": node.why} for node in made.links.failed]
        document["links"] = {"complete": made.links.complete, "failed": failed}
    return document


def _summary(made: "Indexed") -> Iterator[str]:
    for error in made.errors[:_MAX_SHOWN]:
        yield fit_line(escape_line(f"{error.path}: {error.detail}"))
    if len(made.errors) > _MAX_SHOWN:
        more = count(len(made.errors) - _MAX_SHOWN, "more file")
        yield f"and {more} that could not be read completely"
    by = "" if made.by is None else f", by the daemon (process {made.by})"
    size = f"{count(made.files, 'file')}, {count(made.nodes, 'node')}"
    changed = f"{made.changed:,} changed" if made.changed else "nothing changed"
    yield f"{size}: {changed}{by}, in {made.seconds:.1f} s"
    if made.links is not None:
        yield from _about_links(made, made.links)


def _about_links(made: "Indexed", links: "Links") -> Iterator[str]:
    for failed in links.failed[:_MAX_SHOWN]:
        yield fit_line(
            escape_line(f"{failed.key.removeprefix('node:')}: links not computed: {failed.why}")
        )
    if links.failed:
        nodes = count(len(links.failed), "node")
        yield f"links: not computed for {nodes}"
    elif links.complete:
        yield "links: complete"
    elif made.by is not None:
        yield f"links: the daemon (process {made.by}) computes them when it is idle"
    else:
        yield "links: incomplete, because files changed; run `remora hub index --links`"
