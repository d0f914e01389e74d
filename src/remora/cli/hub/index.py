"""The index as a whole: `hub index`, `hub verify` and `hub gc`."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from remora.bootstrap.hub_index import Indexed, Links, collect_hub, index_hub, verify_hub
from remora.bootstrap.hub_index import Progress as Watched
from remora.bootstrap.hub_target import HubTarget
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options, command
from remora.cli.app.output import count, emit, fit_line
from remora.cli.hub.hub_options import place_options
from remora.hub.index_check import Verified
from remora.text import escape_line

_MAX_SHOWN = 20
_VALUE_WIDTH = 60


@command(
    "index",
    examples=(
        "remora hub index",
        "remora hub index --links",
        "remora hub index --root ~/src/shop --json",
    ),
)
@place_options
@click.option(
    "--links",
    is_flag=True,
    help="Find the links of all nodes too, about 1 ms for each node: then also first questions are "
    "quick. A daemon finds them by itself.",
)
def index(options: Options, socket: Path | None, db: Path | None, links: bool) -> int:
    """Bring the index up to date: all files are looked at, those that changed are read.

    Where a daemon runs it does so, for a database has one writer; it finds links by itself, while
    nobody edits, and is not waited for. Files that could only be read in part are listed and do not
    change the exit code.
    """
    wish = HubTarget(db=db, socket=socket)
    with progress_bar(options, "files") as progress, progress_bar(options, "links") as linking:
        made = index_hub(caller_of(options), wish, progress, links=linking if links else None)
    emit(options, _document(made), _summary(made))
    return 0


@command("verify", examples=("remora hub verify", "remora hub verify --json"))
@place_options
def verify(options: Options, socket: Path | None, db: Path | None) -> int:
    """Compare the index, brought up to date, with what a cold look at all files gives.

    Left out is what only a database knows: uid, last_updated, update_source, extra, and links that
    were observed. Exit 1 where anything differs: then remove the database that `remora hub status`
    names, and please report it.
    """
    with spinner(options, "comparing with a cold look at all files, links and tests"):
        found = verify_hub(caller_of(options), HubTarget(db=db, socket=socket))
    document = {
        "ok": found.ok,
        "checked": found.checked,
        "differences": [
            {"key": each.key, "field": each.field, "stored": each.stored, "cold": each.cold}
            for each in found.differences
        ],
    }
    emit(options, document, _differences(found))
    return 0 if found.ok else 1


@command("gc", examples=("remora hub gc",))
@place_options
def gc(options: Options, socket: Path | None, db: Path | None) -> int:
    """Remove what is known of files that are gone or ignored.

    The names under which nodes are known for good (uid) are kept for 30 days more.
    """
    done = collect_hub(caller_of(options), HubTarget(db=db, socket=socket))
    told = f"{count(done.removed, 'node')} removed"
    if done.by is not None:
        told = f"nothing to remove: the daemon (process {done.by}) keeps nothing that is gone"
    emit(options, {"removed": done.removed}, [told])
    return 0


@contextmanager
def spinner(options: Options, what: str) -> Iterator[None]:
    """Show a spinner on a terminal."""
    if options.quiet or not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(what):
        yield


@contextmanager
def progress_bar(options: Options, what: str = "files") -> Iterator[Watched]:
    """Show progress: a bar on a terminal once it has begun, nothing elsewhere."""
    if options.quiet or not sys.stderr.isatty():
        yield lambda _done, _of: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task(what, total=None)

    def show(done: int, of: int) -> None:
        shown.start()
        shown.update(task, completed=done, total=of)
        if done == of:
            shown.stop()

    try:
        yield show
    finally:
        shown.stop()


def _document(made: Indexed) -> dict[str, Any]:
    document: dict[str, Any] = {
        "files": made.files,
        "nodes": made.nodes,
        "changed": made.changed,
        "errors": [{"path": error.path, "detail": error.detail} for error in made.errors],
        "seconds": round(made.seconds, 3),
    }
    if made.links is not None:
        failed = [{"key": each.key, "why": each.why} for each in made.links.failed]
        document["links"] = {"complete": made.links.complete, "failed": failed}
    return document


def _summary(made: Indexed) -> Iterator[str]:
    for error in made.errors[:_MAX_SHOWN]:
        yield fit_line(escape_line(f"{error.path}: {error.detail}"))
    if len(made.errors) > _MAX_SHOWN:
        yield f"and {count(len(made.errors) - _MAX_SHOWN, 'file')} more that could not be read whole"
    by = "" if made.by is None else f", by the daemon (process {made.by})"
    size = f"{count(made.files, 'file')}, {count(made.nodes, 'node')}"
    changed = f"{made.changed:,} changed" if made.changed else "nothing changed"
    yield f"{size}: {changed}{by}, in {made.seconds:.1f} s"
    if made.links is not None:
        yield from _about_links(made, made.links)


def _about_links(made: Indexed, links: Links) -> Iterator[str]:
    for failed in links.failed[:_MAX_SHOWN]:
        yield fit_line(escape_line(f"{failed.key.removeprefix('node:')}: no links: {failed.why}"))
    if links.failed:
        nodes = count(len(links.failed), "node")
        yield f"links: those of {nodes} cannot be found, which is a bug: please report it"
    elif links.complete:
        yield "links: all are stored"
    elif made.by is not None:
        yield f"links: the daemon (process {made.by}) finds them by itself, while nobody edits"
    else:
        yield "links: something changed meanwhile: `remora hub index --links` finds the rest"


def _differences(found: Verified) -> Iterator[str]:
    for each in found.differences[:_MAX_SHOWN]:
        yield escape_line(f"{each.key.removeprefix('node:')}: {each.field}")
        yield fit_line(f"    stored  {_short(each.stored)}")
        yield fit_line(f"    cold    {_short(each.cold)}")
    more = len(found.differences) - _MAX_SHOWN
    if more > 0:
        yield f"and {count(more, 'difference')} more"
    nodes = count(found.checked, "node")
    if found.ok:
        yield click.style(f"{nodes}: as a cold look at the files gives them", fg="green")
    else:
        number = count(len(found.differences), "difference")
        yield click.style(f"{nodes} compared, {number}", fg="red")


def _short(value: object) -> str:
    return escape_line(json.dumps(value, default=str))[: 2 * _VALUE_WIDTH]
