"""A group that loads the module of a command when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from remora.cli.app.options import RemoraGroup


class LazyGroup(RemoraGroup):
    """`lazy` maps a command to `MODULE:ATTRIBUTE` and its line in the list of commands.

    `meant` maps names that people try to what they should type.
    """

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, tuple[str, str]],
        meant: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy
        self.meant = meant or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """Return the names in the order in which they are declared."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Load it."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Use the lines declared here: a command's own help loads its module."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])
