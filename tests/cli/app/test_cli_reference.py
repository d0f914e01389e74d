"""The page of the command line, which the site build makes, has every command, option and key."""

import functools
import runpy
from collections.abc import Iterator
from pathlib import Path

import click

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.lazy_group import TopGroup
from remora.cli.app.options import RemoraCommand
from remora.config.messages import known_keys
from remora.config.schema import Config

GENERATE = Path(__file__).resolve().parents[3] / "docs/generate.py"


@functools.cache
def page() -> str:
    return "".join(runpy.run_path(str(GENERATE))["PAGES"]["cli.md"]())


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
    for path, command in all_commands().items():
        _, heading, section = page().partition(f"\n## `{path}`\n")
        assert heading, path
        section = section.partition("\n## ")[0]
        for option in command.params:
            names = () if getattr(option, "hidden", False) else option.opts
            missing = [name for name in names if name.startswith("-") and name not in section]
            assert missing == [], path


def test_every_key_is_in_it() -> None:
    text = page().partition("## Configuration")[2]
    for key in known_keys(Config, entries=BUILT_IN.settings, where=()):
        name = key.rpartition(".")[2]
        assert f"{name}:" in text or f" {name}" in text, key


def test_every_command_has_examples_that_begin_with_its_name() -> None:
    for path, command in all_commands().items():
        if isinstance(command, RemoraCommand):
            assert command.examples
            assert all(path in example for example in command.examples)
            assert command.examples[0].startswith(path)
