"""Global options stand before or after the command, and mean the same."""

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from remora.cli.app.command_groups import trace
from tests.cli.app.test_cli_reference import all_commands
from tests.cli.conftest import Ran, Remora, tree, write


def test_options_work_in_any_position(ran: Ran, tmp_path: Path) -> None:
    given, words = ("--root", str(ran.root), "--json"), ("trace", "list")
    for line in ((*given, *words), (*words, *given), (words[0], *given, *words[1:])):
        document = ran.remora(*line, cwd=tmp_path).document
        assert (set(document), len(document["streams"])) == ({"streams"}, 2)


def test_no_command_keeps_the_last_of_two_values_without_a_word() -> None:
    for path, command in all_commands().items():
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag or option.multiple:
                continue
            words = [f"{option.opts[-1]}={value}" for value in "ab"]
            with pytest.raises(click.UsageError, match="is given twice"):
                command.make_context(path, words)


def test_flags_and_repeatable_options_may_be_given_twice(ran: Ran) -> None:
    line = ("analyze", "-o", "lint", "-o", "docstring", "-v", "-v", "--dry-run", "--json", "--json")
    assert ran(*line).code == 0


def test_a_command_to_type_next_names_the_root_where_it_must(ran: Ran, tmp_path: Path) -> None:
    told = ran.remora("--root", ran.root, "show", "last", cwd=tmp_path).out
    assert f" --root {ran.root}" in told
    assert "--root" not in ran("show", "last").out


def test_config_takes_the_place_of_the_projects_file_and_the_environment_overrides_it(
    poor: Remora, project: Path
) -> None:
    write(project, {"remora.yaml": "nonsense: 1\n", "other.yaml": "exclude: ['src/']\n"})
    done = poor("analyze", "--json", "--config", "other.yaml", cwd=project)
    assert done.code == 0, done.err
    assert done.document["jobs"] == []
    write(project, {"remora.yaml": "exclude: []\n"})
    told = Remora(poor.home, {"REMORA_EXCLUDE": "['src/']"})
    assert told("analyze", "--dry-run", "--json", cwd=project).document["jobs"] == []


def test_quiet_silences_progress_and_notes_but_no_error(poor: Remora, project: Path) -> None:
    done = poor("analyze", "-o", "steps", "--quiet", "--max-nodes", "1", cwd=project)
    assert done.code == 0
    assert done.err == ""
    assert "checked" in done.out
    assert poor("--quiet", "show", "nope", cwd=project).err.startswith("error: ")


def test_a_traceback_is_only_for_who_asks(poor: Remora, project: Path) -> None:
    # a stream that is a folder is what nobody plans for
    (project / ".agentfs" / "traces" / "lint-000000000000.jsonl").mkdir(parents=True)
    before = tree(project)
    done = poor("trace", "show", "lint-0", "--json", cwd=project)
    assert done.code in (1, 3)
    assert done.error["message"]
    assert tree(project) == before


def test_control_sequences_are_escaped(poor: Remora, tmp_path: Path) -> None:
    odd = write(tmp_path / "odd", {"a\x1b[2Jb.py": "import os\n"})
    done = poor("analyze", "--dry-run", cwd=odd)
    assert "\x1b" not in done.out
    assert "a\\x1b[2Jb.py" in done.out
    document = poor("analyze", "--dry-run", "--json", cwd=odd).document
    assert document["jobs"][0]["node_id"] == "node:a\x1b[2Jb.py:__module__"


@pytest.mark.slow
@pytest.mark.parametrize("coding", ["ascii", "latin-1", "utf-8"])
def test_any_file_name_can_be_printed(poor: Remora, tmp_path: Path, coding: str) -> None:
    odd = write(tmp_path / "odd", {"\u00e9\u4e2d.py": "import os\n"})
    plain = Remora(poor.home, {"PYTHONIOENCODING": coding, "PYTHONUTF8": "0"})
    done = plain("analyze", "--dry-run", "--json", cwd=odd)
    assert done.document["jobs"][0]["node_id"] == "node:\u00e9\u4e2d.py:__module__"
    assert plain("analyze", "--dry-run", cwd=odd).code == 0
    # bytes that are not UTF-8 reach us as half of a surrogate pair
    wrong = plain("analyze", "\udcff.py", "--json", cwd=odd)
    assert wrong.code == 2
    assert "does not exist" in wrong.error["message"]


def test_a_group_alone_runs_its_usual_command_also_with_options(ran: Ran) -> None:
    listed = ran("trace", "list").out
    assert ran("trace").out == listed
    assert ran("trace", "--root", str(ran.root)).out == listed
    assert ran("trace", "--help").out.startswith("Usage: remora trace")
    assert ran("config", "--json").document == ran("config", "show", "--json").document


def test_commands_of_such_a_group_are_completed() -> None:
    shell = ShellComplete(trace, {}, "trace", "_TRACE_COMPLETE")
    assert [found.value for found in shell.get_completions([], "v")] == ["verify"]
