"""run_attached: output goes on as it comes, the tree ends as with `run`."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.workspaces.process import Ended, run_attached

DRIVER = """
import sys
from pathlib import Path
from remora.workspaces.process import run_attached
ended = run_attached(sys.argv[2:], cwd=Path.cwd(), timeout_s=float(sys.argv[1]))
print(ended.returncode, ended.timed_out, ended.isolation)
"""


def driven(seconds: float, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", DRIVER, str(seconds), sys.executable, "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


def test_output_and_code_pass_through() -> None:
    done = driven(30, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)")
    assert done.stdout.splitlines() == ["out", "5 False L0"]
    assert done.stderr == "err\n"


def test_there_is_no_input_and_no_environment_of_ours() -> None:
    done = driven(30, "import os, sys; print(repr(sys.stdin.read()), sorted(os.environ))")
    names = ["HOME", "LANG", "PATH"]
    assert done.stdout.startswith("'' ")
    assert all(repr(name) in done.stdout for name in names)
    assert "PWD" not in done.stdout


def test_time_is_limited() -> None:
    done = driven(0.5, "import time; print('begun', flush=True); time.sleep(60)")
    assert done.stdout.splitlines() == ["begun", f"{-signal.SIGKILL} True L0"]


def test_output_can_go_elsewhere(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        ended = run_attached(
            [sys.executable, "-I", "-c", "print(1)"],
            cwd=tmp_path,
            timeout_s=30,
            stdout=file.fileno(),
        )
    assert ended == Ended(returncode=0, timed_out=False, isolation="L0")
    assert (tmp_path / "out").read_text() == "1\n"


def test_a_missing_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot start"):
        run_attached([str(tmp_path / "none")], cwd=tmp_path, timeout_s=5)


def test_the_command_ends_with_its_parent(tmp_path: Path) -> None:
    pid = str(tmp_path / "pid")
    code = f"import os, time; open({pid!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    command = [sys.executable, "-c", DRIVER, "60", sys.executable, "-I", "-c", code]
    with subprocess.Popen(command) as parent:
        try:
            wait(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        finally:
            parent.kill()
    child = int((tmp_path / "pid").read_text())
    wait(lambda: not is_alive(child))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
