"""`--socket` and `--db`, which name another hub than the root's own."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from remora.cli.options import PATH

_Command = TypeVar("_Command", bound=Callable[..., Any])


def place_options(function: _Command) -> _Command:
    """Both, as keyword arguments `socket` and `db`."""
    for name, about in (
        ("--db", "Another database than the root's own."),
        ("--socket", "Another socket than the database's own."),
    ):
        function = click.option(name, type=PATH, metavar="FILE", help=about)(function)
    return function
