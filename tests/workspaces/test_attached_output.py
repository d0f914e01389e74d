"""run_attached passes output on at once and ends the process tree like `run`."""

import errno
import os
import pty
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from remora.errors import DiskError, HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import ProcessExit, run_attached
from remora.sandbox.supervisor_client import Command
from tests.isolation_levels import COMMON, MARK, need, survivors, wait_until_gone

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
), stdout=1, level=int(sys.argv[2]))
print(ended.returncode, ended.timed_out, ended.isolation)
"""


@pytest.fixture(params=COMMON, ids="L{}".format)
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


def test_output_that_cannot_be_written_is_an_error(tmp_path: Path, level: int) -> None:
    command = Command(
        argv=("/bin/echo", "1"), folder=tmp_path, seconds=30, confinement=Confinement()
    )
    with (
        open("/dev/full", "wb") as full,  # noqa: PTH123 - a device
        pytest.raises(DiskError, match=os.strerror(errno.ENOSPC)) as told,
    ):
        run_attached(command, stdout=full.fileno(), level=level)
    assert told.value.exit_code == 3


HARM = """
import fcntl, os, termios
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError:
        pass
for number in (0, 1, 2):
    for letter in b"id":
        attempt(fcntl.ioctl, number, termios.TIOCSTI, bytes([letter]))
    attempt(os.ftruncate, number, 0)
    attempt(os.lseek, number, 0, 0)
    attempt(os.pwrite, number, b"forged", 0)
    again = attempt(os.open, f"/proc/self/fd/{number}", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
    if again is not None:
        attempt(os.ftruncate, again, 0)
    stolen = [attempt(os.pread, at, 100, 0) for at in (number, again) if at is not None]
    assert not any(stolen), stolen
    assert not os.isatty(number)
print("end")
"""


def test_a_command_cannot_truncate_or_read_the_file_that_its_output_goes_to(
    tmp_path: Path, level: int
) -> None:
    log = tmp_path / "log"
    log.write_text("what was there before\n")
    with log.open("r+") as file:
        file.seek(0, 2)
        argv = driver(30, level, HARM)
        subprocess.run(argv, cwd=tmp_path, stdout=file, stderr=file, stdin=file, check=True)
    assert log.read_text() == f"what was there before\nend\n0 False L{level}\n"


def test_a_command_does_not_get_the_terminal(tmp_path: Path, level: int) -> None:
    master, slave = pty.openpty()
    argv = driver(30, level, HARM)
    subprocess.run(argv, cwd=tmp_path, stdin=slave, stdout=slave, stderr=slave, check=True)
    shown = b""
    while len(shown.split()) < 4 or not shown.endswith(b"\n"):  # it may come in pieces
        shown += os.read(master, 1000)
    assert shown.decode().split() == ["end", "0", "False", f"L{level}"]
    os.set_blocking(slave, False)
    with pytest.raises(BlockingIOError):  # nothing was typed
        os.read(slave, 1)
    os.close(master)
    os.close(slave)


def test_a_reader_that_leaves_does_not_stop_the_command(tmp_path: Path) -> None:
    code = "print('x' * 10_000_000); open('done', 'w').close()"
    with subprocess.Popen(driver(30, 0, code), cwd=tmp_path, stdout=subprocess.PIPE) as done:
        assert done.stdout
        assert done.stdout.read(1) == b"x"
        done.stdout.close()
    assert (tmp_path / "done").exists()


def test_output_waits_for_a_slow_reader_even_if_it_must_not_block(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    code = "print('x' * 1_000_000)"
    with subprocess.Popen(driver(30, 0, code), cwd=tmp_path, stdout=writer) as done:
        os.close(writer)
        with os.fdopen(reader, "rb") as output:
            assert output.read().startswith(b"x" * 1_000_000 + b"\n")
        done.wait()


def test_a_missing_command_is_an_error(tmp_path: Path, level: int) -> None:
    command = Command(
        argv=(str(tmp_path / "none"),), folder=tmp_path, seconds=5, confinement=Confinement()
    )
    with pytest.raises(HostError, match="cannot start"):
        run_attached(command, level=level, stdout=1)


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
