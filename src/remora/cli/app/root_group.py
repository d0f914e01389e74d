"""The root command group, with its front page and version, and the `help` command."""

from typing import Any

import click

from remora.cli.app.command_list import COMMANDS, SUGGESTIONS, front_page
from remora.cli.app.lazy_group import LazyGroup
from remora.cli.app.options import Options, command, options_of
from remora.version import __version__


class TopGroup(LazyGroup):
    """The `remora` command."""

    def __init__(self) -> None:
        super().__init__(
            "remora",
            lazy=COMMANDS,
            meant=SUGGESTIONS,
            context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
        )
        self.params.append(
            click.Option(["-V", "--version"], is_flag=True, expose_value=False, callback=_version)
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write the front page, as `cli.main` does without click."""
        formatter.write(front_page())


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    """Print the installed version, or a JSON document with `--json`."""
    if not wanted:
        return
    from json import dumps

    as_json = options_of(ctx).json
    click.echo(dumps({"version": __version__}) if as_json else f"remora {__version__}")
    ctx.exit()


@command("help", examples=("remora help", "remora help analyze", "remora help trace show"))
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(options: Options, names: tuple[str, ...]) -> int:
    """Show the help of a command."""
    del options
    TopGroup().main([*names, "--help"], "remora", standalone_mode=False)
    return 0
