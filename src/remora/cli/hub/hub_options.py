"""The options `--socket` and `--db`, and a note if the project root is probably wrong."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remora.cli.app.options import PATH, Options
from remora.cli.app.output import note

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.hub.process.hub_paths import HubPaths

_Command = TypeVar("_Command", bound=Callable[..., Any])


def place_options(function: _Command) -> _Command:
    """Add the options `--db` and `--socket` to a command.

    Their values are passed as the keyword arguments `db` and `socket`.
    """
    for name, about in (
        ("--db", "Database file. [default: one per project, in the cache folder]"),
        ("--socket", "Socket file. [default: one per database, in the runtime folder]"),
    ):
        function = click.option(name, type=PATH, metavar="FILE", help=about)(function)
    return function


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
