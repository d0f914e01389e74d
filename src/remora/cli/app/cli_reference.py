"""Generates docs/reference/cli.md, which contains the help of every command and all settings.

Run it with `python -m remora.cli.app.cli_reference`.
"""

from collections.abc import Iterator

import click

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.root_group import TopGroup
from remora.config.template import commented_yaml

_WIDTH = 92
_HEAD = """\
# Command line

This page is printed by `python -m remora.cli.app.cli_reference`; a test compares it.

Global options are accepted before and after the command. With `--json`, stdout is one JSON document;
an error is `{"error": {"code", "message", "hint"}}` on stdout, and also text on stderr.
Refer to a run by its ID, a unique prefix, or `last`, and to an agent by its ID or a unique prefix.

REMORA_ROOT, REMORA_CONFIG and REMORA_MODEL apply if `--root`, `--config` and `--model` are not given.
Colors: `--color` has the highest priority, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE. Without
any of them, terminals get colors and pipes do not. `remora completion bash|zsh|fish` prints a script
that completes commands, options, and the names of runs, agents, operations and nodes.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | done, but something needs attention: a job failed, a conflict, a damaged stream, an unknown run, agent, operation, tool, node or setting |
| 2 | invalid usage or configuration |
| 3 | something outside Remora failed, such as the model or the disk |
| 130 | interrupted: your files are unchanged, and completed work is recorded |
"""
_CONFIG = """\
## Configuration

A project's settings are in `remora.yaml` in its root, or in `[tool.remora]` of its pyproject.toml;
using both is an error. Your own settings for all projects are in
`$XDG_CONFIG_HOME/remora/config.yaml`. An environment variable overrides a key
(`REMORA_RUNNER__MAX_TURNS=20`), and options override both. A project cannot set addresses outside
this machine, or consent to run code without isolation. `remora config show` prints every value and
where it comes from. `remora init` writes this file; every line is optional:

```yaml
"""


def reference() -> Iterator[str]:
    """Yield the content of docs/reference/cli.md in parts."""
    yield _HEAD
    root = TopGroup()
    with click.Context(root, info_name="remora", terminal_width=_WIDTH) as ctx:
        yield from _help(ctx, root)
    yield f"\n{_CONFIG}{commented_yaml(BUILT_IN.settings)}```\n"


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
