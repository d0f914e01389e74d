"""docs/reference/cli.md tells every command and every key, because it is printed from them."""

from collections.abc import Iterator
from pathlib import Path

import click

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.cli_reference import reference
from remora.cli.app.options import RemoraCommand
from remora.cli.app.root_group import TopGroup
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


def test_the_page_is_what_the_commands_print() -> None:
    assert PAGE.read_text(encoding="utf-8") == "".join(reference()), (
        "print it again: python -m remora.cli.app.cli_reference > docs/reference/cli.md"
    )


def test_every_command_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in all_commands():
        assert f"\n## `{path}`\n" in text


def test_every_key_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Configuration")[2]
    for key in known_keys(Config, entries=BUILT_IN.settings):
        name = key.rpartition(".")[2]
        assert f"{name}:" in text or f" {name}" in text, key


def test_these_are_all_commands_and_no_other() -> None:
    assert set(all_commands()) == {
        *(
            f"remora {name}"
            for name in [
                "init",
                "analyze",
                "watch",
                "check",
                "runs",
                "show",
                "diff",
                "report",
                "review",
                "accept",
            ]
        ),
        *(f"remora {name}" for name in ["reject", "revert", "retry", "clean"]),
        *(f"remora {name}" for name in ["trace", "agents", "tools", "model", "schema", "doctor"]),
        *("remora worker", "remora database"),
        *(f"remora database {name}" for name in ["init", "status", "prune"]),
        "remora trace import",
        *(
            "remora help",
            "remora mcp",
            "remora ui",
            "remora completion",
            "remora config",
            "remora config show",
        ),
        *(f"remora tools {name}" for name in ["list", "check", "run"]),
        *("remora eval", "remora eval memory", "remora eval restore", "remora eval decisions"),
        *(f"remora trace {name}" for name in ["list", "show", "packet", "diff", "transcript"]),
        "remora trace why",
        *(f"remora trace {name}" for name in ["tail", "get", "verify", "replay", "anchor"]),
        *(f"remora trace {name}" for name in ["fork", "export", "compact", "reindex"]),
        *(f"remora agents {name}" for name in ["list", "show", "validate", "new"]),
        *(f"remora model {name}" for name in ["status", "pull"]),
        "remora sweep",
        *(f"remora sweep {name}" for name in ["run", "list", "show", "diff", "report"]),
        *(f"remora sweep {name}" for name in ["review", "accept", "reject", "revert", "verify"]),
        "remora hub",
        *(f"remora hub {name}" for name in ["start", "stop", "status", "index", "get", "callers"]),
        *(
            f"remora hub {name}"
            for name in ["callees", "tests", "search", "observe", "verify", "gc"]
        ),
    }


def test_every_command_has_examples_that_begin_with_its_name() -> None:
    for path, command in all_commands().items():
        if isinstance(command, RemoraCommand):
            assert command.examples
            assert all(path in example for example in command.examples)
            assert command.examples[0].startswith(path)
