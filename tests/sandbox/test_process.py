"""run: a scrubbed environment, bounded output, and a process tree that never outlives its run.

All of it holds at every level of isolation.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command, bubblewrap_path
from remora.threads import Cancelled, run_cancellable
from tests.isolation_levels import ALL, COMMON, MARK, need, survivors, wait_until_gone

READ = interpreter_paths(Path(sys.executable), trusted=True)


@pytest.fixture(params=COMMON, ids="L{}".format)
def level(request: pytest.FixtureRequest) -> int:
    return need(request.param)


def command(*argv: str, cwd: Path, seconds: float = 20.0, **environment: str) -> Command:
    within = Confinement(read=READ, write=(cwd,))
    return Command(
        argv=argv, folder=cwd, seconds=seconds, confinement=within, environment=environment
    )


def python(code: str, cwd: Path, level: int, *, mark: str = "", **options: object) -> ProcessResult:
    seconds = options.pop("seconds", 20.0)
    argv = (sys.executable, "-I", "-c", textwrap.dedent(code))
    ran = command(*argv, cwd=cwd, seconds=seconds, **{MARK: mark})  # type: ignore[arg-type]
    return run_command(ran, level=level, **options)  # type: ignore[arg-type]


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


def test_output_code_and_input_pass(tmp_path: Path, level: int) -> None:
    result = python(
        "import sys; print(sys.stdin.read()[::-1], end=''); print('e', file=sys.stderr); exit(3)",
        tmp_path,
        level,
        stdin=b"abc",
    )
    assert result == ProcessResult(
        returncode=3,
        stdout=b"cba",
        stderr=b"e\n",
        timed_out=False,
        truncated=False,
        isolation=f"L{level}",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV])
def test_a_signal_is_a_negative_code(tmp_path: Path, level: int, number: int) -> None:
    ended = python(
        f"""
        import os, signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), {number:d})
        """,
        tmp_path,
        level,
    )
    assert ended.returncode == -number


def test_the_environment_is_scrubbed(
    tmp_path: Path, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMORA_API_KEY", "secret")
    result = run_command(command("/usr/bin/env", cwd=tmp_path, EXTRA="1"), level=level)
    names = {line.partition(b"=")[0] for line in result.stdout.splitlines()}
    # bubblewrap adds the folder that it was told
    assert names - {b"PWD"} == {b"PATH", b"HOME", b"TMPDIR", b"LANG", b"EXTRA"}


def test_home_and_temporary_folder_are_empty_writable_and_gone_afterwards(
    tmp_path: Path, level: int
) -> None:
    code = """
        import json, os
        places = [os.environ["HOME"], os.environ["TMPDIR"]]
        inside = [os.listdir(place) for place in places]
        for place in places:
            open(os.path.join(place, "file"), "w").write("x")
        print(json.dumps([os.getcwd(), places, inside]))
    """
    result = python(code, tmp_path, level)
    folder, places, inside = json.loads(result.stdout)
    assert folder == str(tmp_path)
    assert inside == [[], []]
    assert not any((Path(place) / "file").exists() for place in places)


def test_a_flood_is_cut_without_deadlock(tmp_path: Path, level: int) -> None:
    result = python(
        """
        import sys
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000); sys.stderr.write("y" * 10_000)
        """,
        tmp_path,
        level,
        output_limit=1000,
        stdin=b"z" * 1_000_000,
    )
    assert result.returncode == 0
    assert result.truncated
    assert (result.stdout, result.stderr) == (b"x" * 1000, b"y" * 1000)


def test_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    result = python("print('x' * 10, end='')", tmp_path, 0, output_limit=10)
    assert (result.stdout, result.truncated) == (b"x" * 10, False)


TREE = """
import os, subprocess, sys, time
for options in ({}, {"start_new_session": True}):
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], **options)
    print(child.pid, file=open("pids", "a"))
if os.fork() == 0:            # a daemon: its parent is gone, its session is new
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open("pids", "a"))
        time.sleep(60)
    os._exit(0)
os.wait()
while len(open("pids").readlines()) < 3:     # the daemon has not written its own yet
    time.sleep(0.01)
print(os.getpid(), file=open("pids", "a"))
"""
DEEP = """
import os
before = os.getcwd()
os.chdir(os.environ["HOME"])
for _ in range(1200):         # deeper than a stack
    os.mkdir("d")
    os.chdir("d")
os.chdir(before)
"""


def pids(folder: Path) -> list[str]:
    file = folder / "pids"
    return file.read_text().splitlines() if file.exists() else []


def test_a_time_out_ends_the_whole_tree(tmp_path: Path) -> None:
    """At all levels at once, since it waits."""

    def timed_out(level: int) -> None:
        folder, mark = tmp_path / str(level), uuid.uuid4().hex
        folder.mkdir()
        result = python(TREE + "time.sleep(60)", folder, level, seconds=4.0, mark=mark)
        assert len(pids(folder)) == 4
        assert (result.timed_out, result.returncode) == (True, -signal.SIGKILL)
        assert survivors(mark) == []

    levels = [need(level) for level in ALL if level < 3 or bubblewrap_path()]
    with ThreadPoolExecutor() as threads:
        assert len(list(threads.map(timed_out, levels))) == len(levels)


@pytest.mark.slow
def test_cancelled_work_ends_its_commands_at_once(tmp_path: Path, level: int, mark: str) -> None:
    cancelled = threading.Event()
    threading.Timer(0.5, cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        run_cancellable(
            cancelled, lambda: python("import time; time.sleep(20)", tmp_path, level, mark=mark)
        )
    assert time.monotonic() - started < 5
    wait_until_gone(mark)


@pytest.mark.needs("/proc")
def test_background_processes_end_with_the_command(tmp_path: Path, level: int, mark: str) -> None:
    result = python(TREE, tmp_path, level, mark=mark)
    assert (len(pids(tmp_path)), result.timed_out, result.returncode) == (4, False, 0)
    assert survivors(mark) == []


@pytest.mark.slow
@pytest.mark.needs("/proc")
def test_a_fork_storm_ends(tmp_path: Path, level: int, mark: str) -> None:
    result = python(
        """
        import os, time
        if os.fork():
            time.sleep(60)
        end = time.monotonic() + 30
        while time.monotonic() < end:     # each generation dies, the next goes on
            if os.fork():
                os._exit(0)
            os.setsid()
            with open("pids", "a") as file:
                file.write(f"{os.getpid()}\\n")
        """,
        tmp_path,
        level,
        seconds=2.0,
        mark=mark,
    )
    assert result.stdout == b""
    assert len(pids(tmp_path)) > 3
    assert survivors(mark) == []


@pytest.mark.needs("/proc")
def test_children_end_when_we_are_killed(tmp_path: Path, level: int, mark: str) -> None:
    host = f"""
import pathlib
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
folder = pathlib.Path({str(tmp_path)!r})
read = tuple(map(pathlib.Path, {[str(path) for path in READ]!r}))
run_command(Command(argv=({sys.executable!r}, "-I", "-c", {DEEP + TREE + "time.sleep(60)"!r}), folder=folder, seconds=60,
    confinement=Confinement(read=read, write=(folder,)), environment={{{MARK!r}: {mark!r}}}), level={level})
"""
    with subprocess.Popen([sys.executable, "-c", host]) as parent:
        until = time.monotonic() + 30
        while len(pids(tmp_path)) < 4 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(pids(tmp_path)) == 4
        assert len(survivors(mark)) > 3
        homes = {home for pid in survivors(mark) if (home := home_of(pid))}
        parent.kill()
    wait_until_gone(mark)
    until = time.monotonic() + 10
    while any(map(os.path.exists, homes)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(os.path.exists, homes))


def home_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next((os.fsdecode(word[5:]) for word in words if word.startswith(b"HOME=")), "")


@pytest.mark.parametrize("argv", [["no-such-command"], ["/usr"], ["/usr/bin/none"]])
def test_an_unstartable_command_is_reported(tmp_path: Path, level: int, argv: list[str]) -> None:
    with pytest.raises(HostError, match="cannot start"):
        run_command(command(*argv, cwd=tmp_path, seconds=5), level=level)


@pytest.mark.parametrize("argv", [[], ["a\0b"]])
def test_what_is_not_a_command_is_refused(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(HostError, match="invalid command"):
        run_command(command(*argv, cwd=tmp_path), level=0)


def test_a_missing_folder_is_an_error_and_ignored_input_is_not(tmp_path: Path, level: int) -> None:
    with pytest.raises(HostError, match="cannot start a process in"):
        run_command(command("true", cwd=tmp_path / "none"), level=level)
    ran = run_command(command("true", cwd=tmp_path), level=level, stdin=b"x" * 5_000_000)
    assert ran.returncode == 0


def test_limits_are_in_force(tmp_path: Path, level: int) -> None:
    result = python(
        """
        import resource as r
        print(*(r.getrlimit(k)[1] for k in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_AS, r.RLIMIT_CPU)))
        """,
        tmp_path,
        level,
    )
    core, size, memory, cpu = map(int, result.stdout.split())
    assert core == 0
    assert 0 < size <= 2**30
    assert 0 < memory <= 2**34
    assert 20 <= cpu < 20 * 1024


def test_no_descriptor_is_left_open(tmp_path: Path, level: int) -> None:
    run_command(command("true", cwd=tmp_path), level=level)  # what the process keeps is open now
    before = len(list(Path("/proc/self/fd").iterdir()))
    run_command(command("true", cwd=tmp_path), level=level)
    with pytest.raises(HostError):
        run_command(command("none", cwd=tmp_path), level=level)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_command_inherits_its_three_streams_and_no_more(tmp_path: Path, level: int) -> None:
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        code = """
            import os
            def is_open(number):
                try:
                    os.fstat(number)
                except OSError:
                    return False
                return True
            print([number for number in range(200) if is_open(number)])
        """
        assert python(code, tmp_path, level).stdout == b"[0, 1, 2]\n"
