"""Command groups that import each command on first use, the root group, and the `help` command."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from remora.cli.app.command_list import ALL, COMMANDS, MORE, SECTIONS, front_page
from remora.cli.app.options import Options, StrictCommand, command, global_options, options_of
from remora.text import did_you_mean
from remora.version import __version__


class LazyGroup(StrictCommand, click.Group):
    """A command group that imports each command on first use, and accepts the global options.

    `lazy` maps the name of each command to its `MODULE:ATTRIBUTE` in `remora.cli` and its line in
    the list of commands. `alone` is the command that runs if none is named.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]], alone: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params += global_options()
        self.lazy, self.alone = lazy, alone

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.alone and not ctx.resilient_parsing:
            _, names, _ = self.make_parser(ctx).parse_args([*args])
            args = args if names else [*args, self.alone]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """Return the names of all commands, in the order in which they are declared."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Import and return a command, or None if there is no command with this name."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"remora.cli.{module}"), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """List the commands with their lines from `lazy`, so that no command is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run.

        Raises UsageError with a suggestion if there is no such command. Finding the suggestion does
        not import any commands.
        """
        known = [*self.lazy]
        if args and args[0] not in known and not args[0].startswith("-"):
            other = f" (did you mean `remora {args[0]}`?)" if args[0] in COMMANDS else ""
            meant = other or did_you_mean(args[0], known)
            raise click.UsageError(f"no command {args[0]!r}{meant}", ctx)
        return super().resolve_command(ctx, args)


class TopGroup(LazyGroup):
    """The `remora` command."""

    def __init__(self) -> None:
        super().__init__(
            "remora",
            lazy=COMMANDS,
            context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
            invoke_without_command=True,
            callback=_look,
        )
        self.params.append(
            click.Option(["-V", "--version"], is_flag=True, expose_value=False, callback=_version)
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write the front page, as `cli.main` does without click."""
        formatter.write(front_page())


def _look() -> int:
    """Name the command that has a result, if none is given. Outside a project, print the help."""
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        return 0
    if not import_module("remora.cli.run.bare_command").print_next_step(options_of(ctx)):
        raise click.exceptions.NoArgsIsHelpError(ctx)
    return 0


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    """Print the installed version, or a JSON document with `--json`."""
    if not wanted:
        return
    from json import dumps

    as_json = options_of(ctx).json
    click.echo(dumps({"version": __version__}) if as_json else f"remora {__version__}")
    ctx.exit()


@command("help", examples=("remora help all", "remora help analyze", "remora help trace show"))
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(options: Options, names: tuple[str, ...]) -> int:
    """Show the help of a command, or the list of all commands."""
    del options
    if names == (ALL,):
        click.echo(front_page((*SECTIONS, MORE)), nl=False)
        return 0
    TopGroup().main([*names, "--help"], "remora", standalone_mode=False)
    return 0
