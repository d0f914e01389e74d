"""run_attached passes output on at once and ends the process tree like `run`."""

import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import ProcessExit, run_attached
from remora.sandbox.supervisor_client import Command
from tests.isolation_levels import ALL, MARK, need, survivors, wait_until_gone

DRIVER = """
import sys
from pathlib import Path
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import run_attached
from remora.sandbox.supervisor_client import Command
ended = run_attached(Command(
    argv=tuple(sys.argv[3:]),
    folder=Path.cwd(),
    seconds=float(sys.argv[1]),
    confinement=Confinement(read=interpreter_paths(Path(sys.argv[3]), trusted=True), write=(Path.cwd(),)),
), level=int(sys.argv[2]))
print(ended.returncode, ended.timed_out, ended.isolation)
"""


@pytest.fixture(params=ALL, ids="L{}".format)
def level(request: pytest.FixtureRequest) -> int:
    return need(request.param)


def driver(seconds: float, level: int, code: str) -> list[str]:
    words = [str(seconds), str(level), sys.executable, "-I", "-c", code]
    return [sys.executable, "-c", DRIVER, *words]


def driven(folder: Path, seconds: float, level: int, code: str) -> subprocess.CompletedProcess[str]:
    command = driver(seconds, level, code)
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )


def test_output_and_code_pass_through(tmp_path: Path, level: int) -> None:
    done = driven(
        tmp_path, 30, level, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)"
    )
    assert done.stdout.splitlines() == ["out", f"5 False L{level}"]
    assert done.stderr == "err\n"


def test_there_is_no_input_and_no_environment_of_ours(tmp_path: Path, level: int) -> None:
    done = driven(
        tmp_path, 30, level, "import os, sys; print(repr(sys.stdin.read()), sorted(os.environ))"
    )
    names = ["HOME", "LANG", "PATH", "TMPDIR"]
    assert done.stdout.startswith("'' ")
    assert all(repr(name) in done.stdout for name in names)
    assert "VIRTUAL_ENV" not in done.stdout
    assert "USER" not in done.stdout


@pytest.mark.slow
def test_time_is_limited(tmp_path: Path, level: int) -> None:
    done = driven(tmp_path, 3, level, "import time; print('begun', flush=True); time.sleep(60)")
    assert done.stdout.splitlines() == ["begun", f"{-signal.SIGKILL} True L{level}"]


def test_output_can_go_elsewhere(tmp_path: Path, level: int) -> None:
    command = Command(
        argv=("/bin/echo", "1"), folder=tmp_path, seconds=30, confinement=Confinement()
    )
    with (tmp_path / "out").open("w") as file:
        ended = run_attached(command, stdout=file.fileno(), level=level)
    assert ended == ProcessExit(returncode=0, timed_out=False, isolation=f"L{level}")
    assert (tmp_path / "out").read_text() == "1\n"


def test_a_missing_command_is_an_error(tmp_path: Path, level: int) -> None:
    command = Command(
        argv=(str(tmp_path / "none"),), folder=tmp_path, seconds=5, confinement=Confinement()
    )
    with pytest.raises(HostError, match="cannot start"):
        run_attached(command, level=level)


def test_the_command_ends_with_its_parent(tmp_path: Path, level: int) -> None:
    mark = uuid.uuid4().hex
    code = (
        "import os, subprocess, sys, time; open('begun', 'w').close(); "
        f"os.execve('/bin/sleep', ['sleep', '60'], {{{MARK!r}: {mark!r}}})"
    )
    with subprocess.Popen(driver(60, level, code), cwd=tmp_path) as parent:
        try:
            until = time.monotonic() + 30
            while not survivors(mark) and time.monotonic() < until:
                time.sleep(0.02)
            assert survivors(mark)
        finally:
            parent.kill()
    wait_until_gone(mark)
