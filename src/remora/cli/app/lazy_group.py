"""A group that knows its commands by name and loads the module of the one that is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from remora.cli.app.options import RemoraGroup


class LazyGroup(RemoraGroup):
    """`lazy` maps a command to `MODULE:ATTRIBUTE` and its line in the list of commands."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """In the order in which they are declared: the usual way through a run."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Load it."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but the nearest name is told without loading anything."""
        if args and args[0] not in self.lazy and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{self._nearest(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """From their lines here: a command's own help may load what is slow to load."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self.lazy, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""
