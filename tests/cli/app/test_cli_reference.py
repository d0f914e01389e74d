"""docs/reference/cli.md tells every command and every key, because it is printed from them."""

from collections.abc import Iterator
from pathlib import Path

import click

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.lazy_group import TopGroup
from remora.cli.app.options import RemoraCommand
from remora.config.messages import known_keys
from remora.config.schema import Config

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/cli.md"


def commands(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, parent=ctx, info_name=name)
        yield inner.command_path, command
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def all_commands() -> dict[str, click.Command]:
    root = TopGroup()
    return dict(commands(root, click.Context(root, info_name="remora")))


def test_every_command_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in all_commands():
        assert f"\n## `{path}`\n" in text


def test_every_key_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Configuration")[2]
    for key in known_keys(Config, entries=BUILT_IN.settings, where=()):
        name = key.rpartition(".")[2]
        assert f"{name}:" in text or f" {name}" in text, key


def test_every_command_has_examples_that_begin_with_its_name() -> None:
    for path, command in all_commands().items():
        if isinstance(command, RemoraCommand):
            assert command.examples
            assert all(path in example for example in command.examples)
            assert command.examples[0].startswith(path)
