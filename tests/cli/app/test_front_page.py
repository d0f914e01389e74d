"""`remora --help` is quick, loads nothing, and is the same with and without click."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import click
import pytest

from remora.cli.app.command_list import COMMANDS, GLOBAL_OPTIONS, front_page
from remora.cli.app.lazy_group import TopGroup
from remora.cli.app.options import global_options
from remora.cli.review.verdict_commands import reject, review
from remora.errors import DISTRIBUTION
from remora.runs.review.pending import GroupBy
from tests.cli.conftest import Ran, Remora

HEAVY = {"pydantic", "msgspec", "httpx2", "rich", "yaml", "jsonschema", "asyncio", "click"}


READS = {"pydantic", "httpx2", "rich", "jsonschema", "re2", "pydantic_monty", "tree_sitter"}
"""Packages that a command must not import if it only reads records or asks the daemon."""
HELP = READS | {"msgspec", "yaml", "asyncio", "subprocess", "sqlite3"}
"""Modules that the help of no command may import."""
OURS_IN_HELP = (
    "remora.cli.",
    "remora.errors",
    "remora.exports.",
    "remora.ids",
    "remora.statuses",
    "remora.text",
    "remora.version",
)


MAIN = "sys.argv[0] = 'remora'; from remora.cli.main import main; main()"
HELP_OF_ALL = """
import click
from remora.cli.app.lazy_group import TopGroup

def show(command, ctx):
    command.get_help(ctx)
    for name in command.list_commands(ctx) if isinstance(command, click.Group) else ():
        inner = command.get_command(ctx, name)
        show(inner, click.Context(inner, parent=ctx, info_name=name))

show(TopGroup(), click.Context(TopGroup()))
"""


def modules_of(
    *args: str, code: str = MAIN, cwd: Path | None = None, environ: Mapping[str, str] | None = None
) -> set[str]:
    before = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
    )
    line = [sys.executable, "-c", before + code, *args]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=cwd, env=environ)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--help", "-h", "--version", "-V"])
def test_help_and_version_load_none_of_the_heavy_packages(option: str) -> None:
    assert not HEAVY & modules_of(option)


READING = ("runs", "show", "diff", "trace list", "trace show AGENT")


@pytest.mark.slow
def test_commands_that_read_load_nothing_that_runs_agents(ran: Ran, tmp_path: Path) -> None:
    for line in READING:
        words = line.replace("AGENT", ran.job["agent_id"]).split()
        assert_loads_little(modules_of(*words, cwd=ran.root))
    configured = shutil.copytree(ran.root, tmp_path / "configured")
    (configured / "remora.yaml").write_text("runner: {max_turns: 9}\n")
    for line in READING[:2]:
        assert_loads_little(modules_of(line, cwd=configured))
    assert_loads_little(modules_of("agents", "list", cwd=tmp_path))


def test_a_packet_is_read_without_what_runs_agents(ran: Ran) -> None:
    # a configuration would have to be read: it says whether the index may be used
    loaded = modules_of("trace", "packet", ran.job["agent_id"], cwd=ran.root)
    assert_loads_little(loaded)


def assert_loads_little(loaded: set[str]) -> None:
    assert not READS & loaded
    assert "remora.config.schema" not in loaded
    ours = ("remora.models.client", "remora.models.decoding", "remora.pym", "remora.judges.")
    assert not {name for name in loaded if name.startswith(ours)}


def test_a_question_to_the_daemon_reads_no_configuration(poor: Remora, project: Path) -> None:
    (project / "remora.yaml").write_text("hub: {max_file_mb: 2}\n")
    poor("hub", "start", cwd=project)
    try:
        for args in (("hub", "status"), ("hub", "get", "src/settings.py")):
            assert_loads_little(modules_of(*args, cwd=project, environ=poor.environment))
    finally:
        poor("hub", "stop", cwd=project)


def test_choices_are_all_that_the_code_knows() -> None:
    def choices(command: click.Command, name: str) -> tuple[str, ...]:
        (option,) = (one for one in command.params if one.name == name)
        assert isinstance(option.type, click.Choice)
        return tuple(option.type.choices)

    assert choices(review, "by") == get_args(GroupBy)


def test_help_of_any_command_loads_only_options() -> None:
    loaded = modules_of(code=HELP_OF_ALL)
    assert not HELP & loaded
    assert "remora.cli.trace.export" in loaded
    ours = {name for name in loaded if name.startswith("remora.")}
    assert not {name for name in ours if not f"{name}.".startswith(OURS_IN_HELP)}


def test_help_behind_another_option_loads_click_but_nothing_heavier() -> None:
    assert HEAVY & modules_of("--json", "--help") == {"click"}


def test_front_page_is_the_page_that_click_would_print_and_all_of_it_is_there() -> None:
    root = TopGroup()
    with click.Context(root) as ctx:
        assert root.get_help(ctx) == front_page().rstrip("\n")
        commands = [root.get_command(ctx, name) for name in COMMANDS]
    assert [command and command.name for command in commands] == list(COMMANDS)
    listed = {words.partition(" ")[0] for words in GLOBAL_OPTIONS} - {"--help"}
    assert {", ".join(option.opts).partition(" ")[0] for option in global_options()} == listed


def test_help_is_short_and_all_of_it_can_be_shown(poor: Remora, tmp_path: Path) -> None:
    listed = poor("--help", cwd=tmp_path).out.partition("Options:")[0]
    shown = [name for name in COMMANDS if f"\n  {name} " in listed]
    assert len(shown) <= 15
    assert all(f"\n  {name} " in poor("help", "all", cwd=tmp_path).out for name in COMMANDS)
    short, whole = (poor("analyze", word, cwd=tmp_path).out for word in ("--help", "--help-all"))
    assert short.partition("Options:")[2].count("\n  -") == 12
    assert "--max-turns" in whole
    assert poor("trace", "--help", cwd=tmp_path).out.split("Commands:")[1].split()[0] == "list"


def pages(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """The help of a command and of all commands in it."""
    yield command.get_help(ctx)
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(ctx):
        inner = command.get_command(ctx, name)
        assert inner is not None
        yield from pages(inner, inner.context_class(inner, ctx, info_name=name))


def all_pages() -> list[str]:
    root = TopGroup()
    return [*pages(root, root.context_class(root, info_name="remora", max_content_width=100))]


def test_at_40_columns_no_help_page_is_cut_and_no_word_of_it_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    wide = [page.replace(" \\\n", " ").split() for page in all_pages()]
    monkeypatch.setenv("COLUMNS", "40")
    for words, page in zip(wide, all_pages(), strict=True):
        shown = page.replace(" \\\n", " ").split()
        assert [word for word in words if word not in shown and len(word) <= 24] == []
        assert [
            line for line in page.splitlines() if len(line) > 40 and len(shlex.split(line)) > 2
        ] == []


def test_an_example_that_is_wrapped_can_still_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ctx = reject.context_class(reject, info_name="reject")
    _, _, shown = reject.get_help(ctx).partition("Examples:\n")
    assert "\\\n" in shown
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(
        "remora reject last load_orders --feedback 'keep the name'"
    )


def test_help_and_the_version_are_printed(poor: Remora, tmp_path: Path) -> None:
    number = version(DISTRIBUTION)
    assert poor("--version", cwd=tmp_path).out == f"remora {number}\n"
    assert poor("--version", "--json", cwd=tmp_path).out == f'{{"version": "{number}"}}\n'
    for args in (("--help",), ("-h",), ("analyze", "--help"), ("trace", "show", "-h")):
        done = poor(*args, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("Usage: remora")
