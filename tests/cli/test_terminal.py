"""Terminal output: colours unless disabled, and a live display during a run."""

import os
import pty
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Ran, Remora
from tests.forked_process import warm


def on_terminal(
    remora: Remora, root: Path, *args: str, columns: int = 100, code: int = 0, typed: str = ""
) -> str:
    """Everything that a terminal gets to see of a command that ends with this code."""
    ours, theirs = pty.openpty()
    environ = {**remora.environment, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    line = [remora.program, *args]
    process = warm().start_on_terminal(line, cwd=root, environ=environ, terminal=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = b""
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert process.wait(timeout=30) == code
    return seen.decode("utf-8", "replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


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
     "trace show last", "trace tail", "trace verify -v", "tools list"],
)  # fmt: skip
def test_80_columns_are_enough(ran: Ran, words: str) -> None:
    seen = click.unstyle(on_terminal(ran.remora, ran.root, *words.split(), columns=80))
    lines = [line for line in seen.splitlines() if not line.startswith("  remora ")]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80


def test_signatures_are_whole_however_narrow_it_is(ran: Ran) -> None:
    seen = click.unstyle(on_terminal(ran.remora, ran.root, "tools", "list", columns=80))
    told = " ".join(seen.split())
    functions = ran("tools", "list", "--json").document["host_functions"]
    told_of = [f"{each['signature']} {each['description']}" for each in functions]
    assert [one for one in told_of if one not in told] == []


def test_a_check_that_finds_nothing_draws_no_bar(remora: Remora, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text('"""Fine."""\n')
    seen = on_terminal(remora, tmp_path, "check", "fine.py")
    assert "no problems in 1 file" in click.unstyle(seen)
    assert "0/0" not in seen
    assert "0/?" not in seen
