"""`python -m remora.cli.app.cli_reference` prints docs/reference/cli.md: every command's help and every key."""

from collections.abc import Iterator

import click

from remora.cli.app.root_group import TopGroup
from remora.config.template import commented_yaml

_WIDTH = 92
_HEAD = """\
# Command line

This page is printed by `python -m remora.cli.app.cli_reference`; a test compares it.

Global options stand before or after the command. With `--json`, stdout holds one JSON document and
nothing else; an error is `{"error": {"code", "message", "hint"}}` there, and text for people on stderr.
Where a run is asked for, `last` or the beginning of its name will do; the beginning of an agent's
name does too.

| exit code | means |
|---|---|
| 0 | done |
| 1 | done, but something needs attention: a job failed, a conflict, a damaged stream, an unknown name |
| 2 | wrong usage or configuration |
| 3 | something outside failed: the model, the disk |
| 130 | interrupted: nothing of yours was changed, and what was done is recorded |
"""
_CONFIG = """\
## Configuration

A project's settings stand in `remora.yaml` in its root, your own for all projects in
`$XDG_CONFIG_HOME/remora/config.yaml`. Each key can be overridden by an environment variable
(`REMORA_RUNNER__MAX_TURNS=20`), and the flags above come last. Addresses that leave this machine
and consent to run code without isolation are not taken from a project's file. `remora init`
writes this, and nothing in it is needed:

```yaml
"""


def reference() -> Iterator[str]:
    """The page in pieces."""
    yield _HEAD
    root = TopGroup()
    with click.Context(root, info_name="remora", terminal_width=_WIDTH) as ctx:
        yield from _help(ctx, root)
    yield f"\n{_CONFIG}{commented_yaml()}```\n"


def _help(ctx: click.Context, command: click.Command) -> Iterator[str]:
    yield f"\n## `{ctx.command_path}`\n\n```text\n{command.get_help(ctx)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            if found is not None:
                with click.Context(found, ctx, name, terminal_width=_WIDTH) as inner:
                    yield from _help(inner, found)


if __name__ == "__main__":
    click.echo("".join(reference()), nl=False)
