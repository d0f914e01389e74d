"""Options `--socket` and `--db`, and a note if the root may not be the intended one."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from remora.bootstrap.hub_target import root_above
from remora.bootstrap.invocation import Caller
from remora.cli.app.options import PATH, Options
from remora.cli.app.output import note
from remora.hub.process.hub_paths import HubPlaces

_Command = TypeVar("_Command", bound=Callable[..., Any])


def place_options(function: _Command) -> _Command:
    """Both, as keyword arguments `socket` and `db`."""
    for name, about in (
        ("--db", "Another database than the root's own."),
        ("--socket", "Another socket than the database's own."),
    ):
        function = click.option(name, type=PATH, metavar="FILE", help=about)(function)
    return function


def note_root_above(options: Options, caller: Caller, places: HubPlaces) -> None:
    """Print a note if the project seems to begin above the root."""
    above = root_above(caller, places)
    if above is not None:
        note(
            options,
            f"the root is {places.root}, since neither git nor a remora.yaml says where it is: "
            f"`--root {above}` asks about the project above",
        )
