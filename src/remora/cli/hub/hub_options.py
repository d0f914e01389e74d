"""The options `--socket` and `--db`, and a note if the project root is probably wrong."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import PATH, Options
from remora.cli.app.output import note

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.hub.process.hub_paths import HubPaths


def target_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add `--db` and `--socket` to a command, and pass their values as the argument `target`."""

    @functools.wraps(function)
    def command(options: Options, *, db: Path | None, socket: Path | None, **others: Any) -> int:
        from remora.usecases.hub.target import HubTarget

        return function(options, target=HubTarget(db=db, socket=socket), **others)

    for name, about in (
        ("--db", "Database file. [default: one per project, in the cache folder]"),
        ("--socket", "Socket file. [default: one per database, in the runtime folder]"),
    ):
        command = click.option(name, type=PATH, metavar="FILE", help=about)(command)
    return command


def note_root_above(options: Options, invocation: "Invocation", places: "HubPaths") -> None:
    """Print a note if a parent folder is probably the project root."""
    from remora.usecases.hub.target import root_above

    above = root_above(invocation, places)
    if above is not None:
        note(
            options,
            f"no git repository or remora.yaml found, so the root is {places.root}; "
            f"use `--root {above}` to select the enclosing project",
        )
