"""The options `--socket` and `--db`, which select the Hub of a command."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from remora.cli.app.options import PATH, Options


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
