"""Conventions of command lines: short options, colors, width, variables, help, completion."""

import json
from pathlib import Path

import click
import pytest

from remora.cli.app.entry import run
from tests.cli.conftest import Ran, Remora, on_terminal, write

ESC = "\x1b["


LEADS = {
    "hub schema": "(did you mean `remora schema`?)",
    "agents schema": "(did you mean `remora schema`?)",
    "config shw": "(did you mean 'show'?)",
    "analize": "no command 'analize' (did you mean 'analyze'?)",
    "trace zzz": "no command 'zzz'",
}


def test_a_name_that_people_try_leads_to_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, meant in LEADS.items():
        assert run([*typed.split(), "--json"]) == 2
        message = json.loads(capsys.readouterr().out)["error"]["message"]
        assert message.endswith(meant), typed


def test_help_shows_what_the_option_shows(capsys: pytest.CaptureFixture[str]) -> None:
    for names in ((), ("analyze",), ("trace", "show")):
        assert run(["help", *names]) == 0
        shown = capsys.readouterr().out
        assert run([*names, "--help"]) == 0
        assert shown == capsys.readouterr().out
    assert run(["help", "analize"]) == 2


def changed_lines(diff: str) -> list[str]:
    return [line for line in diff.splitlines() if line[:1] in ("+", "-")]


@pytest.mark.parametrize(
    ("args", "environment", "colored"),
    [
        ((), {}, False),
        (("--color=always",), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"CLICOLOR_FORCE": "0"}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colors(
    ran: Ran, args: tuple[str, ...], environment: dict[str, str], colored: bool
) -> None:
    remora = Remora(ran.remora.home, environment)
    diff = remora("diff", "last", *args, cwd=ran.root).out
    assert (f"{ESC}31m-" in diff) is colored
    if args:
        assert (ESC in remora("runs", *args, cwd=ran.root).out) is colored
        assert (ESC in remora("show", "nope", *args, cwd=ran.root).err) is colored
        # what is not for a terminal can be applied as a whole, so its places differ
        assert changed_lines(click.unstyle(diff)) == changed_lines(ran("diff", "last").out)


@pytest.mark.slow
def test_a_diff_is_coloured_on_a_terminal_if_colours_are_wanted(ran: Ran) -> None:
    assert "\x1b[31m-\x1b[0m" in on_terminal(ran.remora, ran.root, "diff", "last")
    plain = Remora(ran.remora.home, {"NO_COLOR": "1"})
    assert "\x1b[" not in on_terminal(plain, ran.root, "diff", "last")
    piped = ran("diff", "last")
    assert "\x1b[" not in piped.out + piped.err


@pytest.mark.slow
def test_how_to_continue_with_a_stopped_run_is_said_once(remora: Remora, project: Path) -> None:
    seen = on_terminal(remora, project, "analyze", "-o", "steps", "--max-time", "0.3", code=130)
    assert "your files are unchanged" in seen
    assert seen.count("remora analyze --resume") == 1


@pytest.mark.parametrize(
    "words",
    ["show last -v", "runs", "trace list", "trace show read",
     "trace show last", "trace verify -v"],
)  # fmt: skip
def test_80_columns_are_enough(ran: Ran, words: str) -> None:
    in_80_columns(ran, words)


def in_80_columns(ran: Ran, words: str) -> str:
    seen = click.unstyle(on_terminal(ran.remora, ran.root, *words.split(), columns=80))
    lines = [line for line in seen.splitlines() if not line.startswith("  remora ")]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    return seen


def test_signatures_are_whole_however_narrow_it_is(ran: Ran) -> None:
    told = " ".join(in_80_columns(ran, "tools list").split())
    functions = ran("tools", "list", "--json").document["host_functions"]
    told_of = [f"{each['signature']} {each['description']}" for each in functions]
    assert [one for one in told_of if one not in told] == []


def test_a_check_that_finds_nothing_draws_no_bar(remora: Remora, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text('"""Fine."""\n')
    seen = on_terminal(remora, tmp_path, "check", "fine.py")
    assert "no problems in 1 file" in click.unstyle(seen)
    assert "0/0" not in seen
    assert "0/?" not in seen


def test_variables_name_the_project_and_its_configuration(ran: Ran, tmp_path: Path) -> None:
    named = Remora(ran.remora.home, {"REMORA_ROOT": str(ran.root)})
    assert len(named("runs", "--json", cwd=tmp_path).document["runs"]) == 1
    (tmp_path / "other").mkdir()
    other = named("runs", "--json", "--root", tmp_path / "other", cwd=tmp_path)
    assert other.document["runs"] == []
    missing = Remora(ran.remora.home, {"REMORA_CONFIG": "nowhere.yaml"})
    assert missing("runs", "--json", cwd=ran.root).code == 2


def shown(remora: Remora, root: Path, *args: str) -> dict[str, tuple[object, str]]:
    done = remora("config", "show", *args, "--json", cwd=root)
    assert done.code == 0, done.err
    return {one["key"]: (one["value"], one["from"]) for one in done.document["settings"]}


def test_a_setting_is_shown_with_its_origin(poor: Remora, project: Path) -> None:
    write(project, {"remora.yaml": "runner:\n  max_turns: 5\n"})
    remora = Remora(poor.home, {"REMORA_MODEL": "small", "REMORA_HUB__MEMORY_MB": "99"})
    found = shown(remora, project)
    assert found["runner.max_turns"] == (5, f"{project}/remora.yaml:2:14")
    assert found["model.name"] == ("small", "REMORA_MODEL")
    assert found["hub.memory_mb"] == (99, "REMORA_HUB__MEMORY_MB")
    assert found["model.timeout_s"] == (60.0, "default")
    assert set(shown(remora, project, "hub")) == {key for key in found if key.startswith("hub.")}


def test_an_address_in_the_variable_is_an_address(poor: Remora, project: Path) -> None:
    remora = Remora(poor.home, {"REMORA_MODEL": "http://127.0.0.1:9/v1"})
    found = shown(remora, project, "model")
    assert found["model.base_url"] == ("http://127.0.0.1:9/v1", "REMORA_MODEL")
    assert found["model.provider"] == ("openai", "REMORA_MODEL")


def test_click_completes_commands_and_options(poor: Remora, project: Path) -> None:
    for line, found in (
        ("anal", "analyze"),
        ("analyze --max-r", "--max-requests"),
        ("nosuch ", ""),
    ):
        words = f"remora {line}"
        asked = {"_REMORA_COMPLETE": "bash_complete", "COMP_WORDS": words}
        user = Remora(poor.home, {**asked, "COMP_CWORD": str(words.count(" "))})
        done = user(cwd=project)
        assert (done.out.strip(), done.err) == (found and f"plain,{found}", "")
