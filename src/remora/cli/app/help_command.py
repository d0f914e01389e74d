"""The `help COMMAND` command, which is the same as `COMMAND --help`."""

import click

from remora.cli.app.options import Options, command


@command("help", examples=("remora help", "remora help analyze", "remora help trace show"))
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(options: Options, names: tuple[str, ...]) -> int:
    """Show the help of a command."""
    from remora.cli.app.root_group import TopGroup

    del options
    root = TopGroup()
    root.main([*names, "--help"], "remora", standalone_mode=False)
    return 0
