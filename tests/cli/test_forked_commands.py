"""Commands forked from a warm process behave like fresh ones."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, tree
from tests.forked_process import warm

DIES = (
    "import os, signal, sys\nprint(sys.argv[1], flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
)
TELLS = (
    "import json, os, sys\nprint(json.dumps([os.getcwd(), dict(os.environ), sys.stdin.read()]))\n"
)


@pytest.mark.parametrize(
    "line",
    [
        ("--help",),
        ("runs", "--json"),
        ("show", "nope", "--json"),
        ("agents", "show", "lint"),
        ("analyze", "--no-such-option"),
        ("analyze", "--dry-run"),
    ],
)
def test_a_command_is_the_same(poor: Remora, project: Path, line: tuple[str, ...]) -> None:
    assert poor(*line, cwd=project) == poor.afresh(*line, cwd=project)


def test_what_it_leaves_is_the_same(poor: Remora, project: Path) -> None:
    poor("init", cwd=project)
    by_a_fork = tree(project)
    (project / "remora.yaml").unlink()
    poor.afresh("init", cwd=project)
    assert tree(project) == by_a_fork


def run(script: Path, *args: str, environ: dict[str, str]) -> tuple[int, str]:
    out, err = script.parent / "out", script.parent / "err"
    line = [str(script), *args]
    code = warm().run(line, cwd=script.parent, environ=environ, out=out, err=err)
    return code, out.read_text() + err.read_text()


def test_nothing_of_ours_reaches_it(tmp_path: Path) -> None:
    script = tmp_path / "tells.py"
    script.write_text(TELLS)
    code, told = run(script, environ={"ONLY": "this"})
    assert code == 0
    assert told == f'["{tmp_path}", {{"ONLY": "this"}}, ""]\n'


def test_how_it_ended_is_reported_and_the_next_one_is_another(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(DIES)
    for word in ("one", "two"):
        assert run(script, word, environ=dict(os.environ)) == (-signal.SIGKILL, f"{word}\n")
