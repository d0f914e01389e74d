"""Commands forked from a warm process behave like fresh ones."""

import os
import signal
from pathlib import Path
from shutil import rmtree

from tests.cli.conftest import Remora, tree
from tests.forked_process import warm

DIES = (
    "import os, signal, sys\nprint(sys.argv[1], flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
)
TELLS = (
    "import json, os, sys\nprint(json.dumps([os.getcwd(), dict(os.environ), sys.stdin.read()]))\n"
)


def test_a_command_is_the_same_and_leaves_the_same(poor: Remora, project: Path) -> None:
    for line in (("show", "nope", "--json"), ("agents", "new", "tidy")):
        rmtree(project / ".remora", ignore_errors=True)
        by_a_fork = poor(*line, cwd=project), tree(project)
        rmtree(project / ".remora", ignore_errors=True)
        assert (poor.afresh(*line, cwd=project), tree(project)) == by_a_fork


def run(script: Path, *args: str, environ: dict[str, str]) -> tuple[int, str]:
    out, err = script.parent / "out", script.parent / "err"
    line = [str(script), *args]
    code = warm().run(line, cwd=script.parent, environ=environ, out=out, err=err)
    return code, out.read_text() + err.read_text()


def test_nothing_of_ours_reaches_it_and_how_it_ended_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TELLS)
    code, told = run(script, environ={"ONLY": "this"})
    assert (code, told) == (0, f'["{tmp_path}", {{"ONLY": "this"}}, ""]\n')
    script.write_text(DIES)
    for word in ("one", "two"):  # the next one is another
        assert run(script, word, environ=dict(os.environ)) == (-signal.SIGKILL, f"{word}\n")
