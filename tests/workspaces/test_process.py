"""run: a scrubbed environment, bounded output, and a process tree that never outlives its run."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.workspaces.process import Finished, run


def python(code: str, cwd: Path, **options: object) -> Finished:
    command = [sys.executable, "-I", "-c", textwrap.dedent(code)]
    return run(command, cwd=cwd, **{"timeout_s": 20.0, **options})  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(map(alive, pids)):
        time.sleep(0.02)
    assert [pid for pid in pids if alive(pid)] == []


def test_output_code_and_input_pass(tmp_path: Path) -> None:
    result = python(
        "import sys; print(sys.stdin.read()[::-1], end=''); print('e', file=sys.stderr); exit(3)",
        tmp_path,
        stdin=b"abc",
    )
    assert result == Finished(
        returncode=3, stdout=b"cba", stderr=b"e\n", timed_out=False, truncated=False, isolation="L0"
    )


def test_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    assert python("import os; os.kill(os.getpid(), 15)", tmp_path).returncode == -signal.SIGTERM


def test_the_environment_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMORA_API_KEY", "secret")
    code = "import os, json; print(json.dumps([dict(os.environ), os.listdir(os.environ['HOME'])]))"
    result = run(["/usr/bin/env"], cwd=tmp_path, timeout_s=20, env_extra={"EXTRA": "1"})
    names = {line.partition(b"=")[0] for line in result.stdout.splitlines()}
    assert names == {b"PATH", b"HOME", b"LANG", b"EXTRA"}
    assert python(code, tmp_path).stdout.strip().endswith(b"[]]"), "HOME is empty"


def test_home_is_gone_afterwards(tmp_path: Path) -> None:
    home = python("import os; print(os.environ['HOME'])", tmp_path).stdout.decode().strip()
    assert home
    assert not Path(home).exists()


def test_the_folder_is_the_callers(tmp_path: Path) -> None:
    result = python("import os; print(os.getcwd())", tmp_path)
    assert result.stdout.decode().strip() == str(tmp_path)


def test_a_flood_is_cut_without_deadlock(tmp_path: Path) -> None:
    result = python(
        """
        import sys
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000); sys.stderr.write("y" * 10_000)
        """,
        tmp_path,
        output_limit=1000,
        stdin=b"z" * 1_000_000,
    )
    assert result.returncode == 0
    assert result.truncated
    assert (result.stdout, result.stderr) == (b"x" * 1000, b"y" * 1000)


def test_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    result = python("print('x' * 10, end='')", tmp_path, output_limit=10)
    assert (result.stdout, result.truncated) == (b"x" * 10, False)


TREE = """
import os, subprocess, sys, time
for options in ({}, {"start_new_session": True}):
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], **options)
    print(child.pid, flush=True)
if os.fork() == 0:            # a daemon: its parent is gone, its session is new
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
os.wait()
print(os.getpid(), flush=True)
"""


def test_a_time_out_ends_the_whole_tree(tmp_path: Path) -> None:
    result = python(TREE + "time.sleep(60)", tmp_path, timeout_s=2.0)
    pids = [int(line) for line in result.stdout.split()]
    assert len(pids) == 4
    assert (result.timed_out, result.returncode) == (True, -signal.SIGKILL)
    assert [pid for pid in pids if alive(pid)] == []


def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    result = python(TREE, tmp_path)
    pids = [int(line) for line in result.stdout.split()]
    assert (len(pids), result.timed_out, result.returncode) == (4, False, 0)
    assert [pid for pid in pids if alive(pid)] == []


def test_a_fork_storm_ends(tmp_path: Path) -> None:
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
        timeout_s=1.0,
    )
    assert result.stdout == b""
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) > 3
    assert [pid for pid in pids[-50:] if alive(pid)] == []


def test_children_end_when_we_are_killed(tmp_path: Path) -> None:
    host = f"""
import pathlib, sys
from remora.workspaces.process import run
run([sys.executable, "-I", "-c", {TREE + "time.sleep(60)"!r}.replace("print(", "print(file=open('pids', 'a'), *[").replace(", flush=True)", "])")],
    cwd=pathlib.Path({str(tmp_path)!r}), timeout_s=60)
"""
    parent = subprocess.Popen([sys.executable, "-c", host])
    pids: list[int] = []
    until = time.monotonic() + 20
    while len(pids) < 4 and time.monotonic() < until:
        time.sleep(0.05)
        if (tmp_path / "pids").exists():
            pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    home = Path(f"/proc/{pids[0]}/environ").read_bytes().split(b"HOME=")[1].split(b"\0")[0]
    parent.kill()
    parent.wait()
    wait_until_gone(pids, 10)
    until = time.monotonic() + 5
    while Path(os.fsdecode(home)).exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(os.fsdecode(home)).exists()


def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    for argv in (["no-such-command"], [str(tmp_path)], [], ["a\0b"]):
        with pytest.raises(HostError, match=r"cannot start|not a command"):
            run(argv, cwd=tmp_path, timeout_s=5)
    with pytest.raises(HostError, match="cannot start a process in"):
        run(["true"], cwd=tmp_path / "none", timeout_s=5)


def test_limits_are_in_force(tmp_path: Path) -> None:
    result = python(
        """
        import resource as r
        print(*(r.getrlimit(k)[1] for k in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_AS, r.RLIMIT_CPU)))
        """,
        tmp_path,
    )
    core, size, memory, cpu = map(int, result.stdout.split())
    assert core == 0
    assert 0 < size <= 2**30
    assert 0 < memory <= 2**34
    assert 20 <= cpu < 20 * 1024


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    run(["true"], cwd=tmp_path, timeout_s=5)
    with pytest.raises(HostError):
        run(["none"], cwd=tmp_path, timeout_s=5)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_child_that_ignores_its_input_does_not_block(tmp_path: Path) -> None:
    assert run(["true"], cwd=tmp_path, timeout_s=10, stdin=b"x" * 5_000_000).returncode == 0
