"""On a terminal: colours unless they are not wanted, and a display that lives while a run goes."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Remora, command


def on_terminal(remora: Remora, root: Path, *args: str) -> str:
    """Everything that a terminal gets to see."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(args),
        cwd=root,
        env={**remora.environment, "TERM": "xterm-256color", "COLUMNS": "100"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert process.wait(timeout=30) == 0
    return seen.decode("utf-8", "replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_a_diff_is_coloured(ran: Ran) -> None:
    assert "\x1b[31m-import os" in on_terminal(ran.remora, ran.root, "diff", "last")


def test_unless_colours_are_not_wanted(ran: Ran) -> None:
    plain = Remora(ran.remora.home, {"NO_COLOR": "1"})
    assert "\x1b[" not in on_terminal(plain, ran.root, "diff", "last")


def test_a_pipe_gets_no_colours(ran: Ran) -> None:
    done = ran("diff", "last")
    assert "\x1b[" not in done.out + done.err


@pytest.mark.slow
def test_a_run_is_seen_while_it_goes(remora: Remora, project: Path) -> None:
    seen = on_terminal(remora, project, "analyze")
    assert "jobs " in seen
    assert "turns" in seen
    assert "tokens sent" in seen
    assert "findings fixed" in seen
    assert "src/settings.py:read" in seen
    # it is gone at the end: the summary stands alone
    assert seen.rstrip().splitlines()[-1].strip().startswith("remora accept")
