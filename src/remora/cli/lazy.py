"""The top group: it knows its commands by name and loads the module of the one that is called."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from remora.cli.options import RemoraGroup, options_of


class LazyGroup(RemoraGroup):
    """`lazy` maps a command to `MODULE:ATTRIBUTE` and its line in the list of commands;
    `front_page` is its help."""

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, tuple[str, str]],
        front_page: Callable[[], str],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(["--version"], is_flag=True, expose_value=False, callback=_version)
        )
        self.lazy = lazy
        self._front_page = front_page

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

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """The front page, the same that comes without click."""
        formatter.write(self._front_page())

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self.lazy, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    """Print the installed version; as JSON where that is asked for."""
    if not wanted:
        return
    from importlib.metadata import version
    from json import dumps

    installed = version("remora")
    as_json = options_of(ctx).json
    click.echo(dumps({"version": installed}) if as_json else f"remora {installed}")
    ctx.exit()
