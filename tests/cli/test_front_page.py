"""`remora --help` is quick, loads nothing, and is the same with and without click."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from remora.cli.app.command_list import COMMANDS, GLOBAL_OPTIONS, front_page
from remora.cli.app.options import global_options
from remora.cli.app.root_group import TopGroup
from tests.cli.conftest import Ran

HEAVY = {"pydantic", "msgspec", "httpx2", "rich", "yaml", "jsonschema", "asyncio", "click"}


READS = {"pydantic", "httpx", "rich", "jsonschema", "re2", "ruff", "pydantic_monty", "tree_sitter"}
"""What a command that reads records must not import, and no `--help` of the commands below."""


def modules_of(*args: str, cwd: Path | None = None) -> set[str]:
    code = (
        "import sys, json, atexit; sys.argv = ['remora', *sys.argv[1:]]\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "from remora.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True, cwd=cwd
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--help", "-h", "--version", "-V"])
def test_help_and_version_load_none_of_the_heavy_packages(option: str) -> None:
    assert not HEAVY & modules_of(option)


@pytest.mark.parametrize(
    "args",
    [
        ("runs",),
        ("show", "last"),
        ("diff", "last"),
        ("agents", "list"),
        ("trace", "list"),
        ("trace", "packet", "lint"),
    ],
    ids=" ".join,
)
def test_commands_that_read_load_nothing_that_runs_agents(ran: Ran, args: tuple[str, ...]) -> None:
    words = [ran.job["agent_id"] if word == "lint" else word for word in args]
    loaded = modules_of(*words, cwd=ran.root)
    assert not READS & loaded
    assert "remora.config.schema" not in loaded
    assert not {name for name in loaded if name.startswith(("remora.models", "remora.pym"))}


@pytest.mark.parametrize(
    "command",
    [
        *("analyze", "runs", "show", "diff", "report", "review", "accept", "reject", "revert"),
        *("retry", "init", "schema", "trace", "hub", "agents", "model"),
        *("hub get", "trace list", "model pull"),
    ],
)
def test_help_of_a_command_loads_only_its_options(command: str) -> None:
    assert not READS & modules_of(*command.split(), "--help")


def test_help_behind_another_option_loads_click_but_nothing_heavier() -> None:
    assert HEAVY & modules_of("--json", "--help") == {"click"}


def test_it_is_the_page_that_click_would_print() -> None:
    root = TopGroup()
    assert root.get_help(click.Context(root)) == front_page().rstrip("\n")


def test_every_command_that_it_lists_is_there() -> None:
    root = TopGroup()
    with click.Context(root) as ctx:
        for name in COMMANDS:
            command = root.get_command(ctx, name)
            assert command is not None
            assert command.name == name


def test_every_global_option_that_it_lists_is_there() -> None:
    listed = {words.partition(" ")[0] for words in GLOBAL_OPTIONS} - {"--help"}
    assert {", ".join(option.opts).partition(" ")[0] for option in global_options()} == listed


@pytest.mark.parametrize(
    "args", [("--help",), ("-h",), ("analyze", "--help"), ("trace", "show", "-h")]
)
def test_help_exits_with_0(args: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remora", *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: remora")
    assert not done.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--version",), f"remora {version('remora')}\n"),
        (("--version", "--json"), f'{{"version": "{version("remora")}"}}\n'),
    ],
)
def test_the_version_is_that_of_the_package(args: tuple[str, ...], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remora", *args], capture_output=True, text=True, check=True
    )
    assert done.stdout == told


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("analize",), "no command 'analize'; did you mean 'analyze'?"),
        (("trace", "pakcet"), "no command 'pakcet'; did you mean 'packet'?"),
        (("trace", "zzz"), "no command 'zzz'"),
    ],
)
def test_a_command_that_is_not_there_names_the_nearest(args: tuple[str, ...], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remora", *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert told in done.stderr
