"""The `hub index` command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, fit_line
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import progress_bar
from remora.cli.hub.hub_options import target_options
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.usecases.hub.index import Indexed
    from remora.usecases.hub.target import HubTarget

_MAX_SHOWN = 20


@command(
    "index",
    examples=(
        "remora hub index",
        "remora hub index --root ~/src/shop --json",
    ),
)
@target_options
def index(options: Options, target: "HubTarget") -> int:
    """Update the index: check all files, and read those that have changed.

    If a daemon is running, it updates the index, because only one process can write to the
    database. The daemon computes links when it is idle, and this command does not wait for them.
    Files that can only be partially read are listed, but they do not affect the exit code.
    """
    from remora.usecases.hub.index import index_hub

    with progress_bar(options, "files") as progress:
        made = index_hub(invocation_of(options), target, progress)
    emit(options, _document(made), _summary(made))
    return 0


def _document(made: "Indexed") -> dict[str, Any]:
    return {
        "files": made.files,
        "nodes": made.nodes,
        "changed": made.changed,
        "errors": [{"path": error.path, "detail": error.detail} for error in made.errors],
        "seconds": round(made.seconds, 3),
    }


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
