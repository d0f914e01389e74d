"""`check` in the process that a daemon keeps: the same answer, without the imports."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.cli.warm.process import file_times
from tests.cli.conftest import Done, Remora
from tests.hub.daemon.hub_process import is_gone, wait_until

ASK = (
    "import sys; from remora.cli.warm.client import run_warm; "
    "code = run_warm(sys.argv[1:]); sys.stderr.write(f'[{code}]')"
)
"""Runs a command in the warm process only, and writes the exit code, or None, to stderr."""


class Desk:
    """A user with a project whose daemon runs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        (self.root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F"]\n')
        (self.root / "clean.py").write_text("A = 1\n")
        (self.root / "wrong.py").write_text("import os\n")
        self.remora = Remora(folder, {"XDG_RUNTIME_DIR": str(folder / "run")})

    def ask(self, *words: str, before: tuple[str, ...] = ()) -> Done:
        done = subprocess.run(
            [*before, sys.executable, "-c", ASK, *words],
            cwd=self.root,
            env=self.remora.environment,
            check=False,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def has_warm_process(self) -> bool:
        return "[None]" not in self.ask("check", "clean.py").err


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("warm"))
    assert desk.remora("hub", "start", cwd=desk.root).code == 0
    try:
        wait_until(desk.has_warm_process, "for the warm process")
        yield desk
    finally:
        desk.remora("hub", "stop", cwd=desk.root)


def test_without_a_daemon_nothing_takes_the_command(tmp_path: Path) -> None:
    done = Desk(tmp_path).ask("check", "clean.py")
    assert done.err == "[None]"
    assert done.out == ""


@pytest.mark.parametrize("words", [["clean.py"], ["wrong.py"], ["wrong.py", "--json"], ["no.py"]])
def test_it_prints_and_exits_as_a_process_of_its_own(desk: Desk, words: list[str]) -> None:
    alone = Remora(desk.root.parent, {"XDG_RUNTIME_DIR": str(desk.root.parent / "other")})
    own = alone("check", *words, cwd=desk.root)
    done = desk.ask("check", *words)
    assert (done.out, done.err) == (own.out, f"{own.err}[{own.code}]")


def test_the_command_uses_it(desk: Desk) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "remora", "check", "wrong.py"],
        cwd=desk.root,
        env=desk.remora.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "1 problem in 1 file" in done.stdout
    assert "remora.cli.warm.client" in done.stderr
    assert "remora.cli.run.check" not in done.stderr, "the command itself does not check"


def test_it_works_in_the_folder_and_environment_of_the_caller(desk: Desk) -> None:
    (desk.root / "inner").mkdir(exist_ok=True)
    (desk.root / "inner" / "wrong.py").write_text("import os\n")
    done = desk.ask("check", "wrong.py", "--json", before=("env", "-C", "inner"))
    assert json.loads(done.out)["root"] == str(desk.root / "inner")
    done = desk.ask("check", "clean.py", before=("env", "REMORA_RUNNER__MAX_TURNS=many"))
    assert "REMORA_RUNNER__MAX_TURNS" in done.err


def test_an_interrupted_caller_interrupts_it(desk: Desk) -> None:
    many = desk.root / "many"
    many.mkdir()
    for number in range(80):
        (many / f"wrong_{number}.py").write_text(f"import os\n\n\ndef f{number}():\n    pass\n")
    with subprocess.Popen(
        [sys.executable, "-c", ASK, "check", "many"],
        cwd=desk.root,
        env=desk.remora.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        wait_until(lambda: forks_of(desk), "for the check")
        forks = forks_of(desk)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate()
    assert said.endswith("[130]")
    wait_until(lambda: all(map(is_gone, forks)), "for the end of the fork")


def test_a_process_that_does_not_answer_is_not_waited_for(desk: Desk) -> None:
    (warm,) = warm_of(desk)
    os.kill(warm, signal.SIGSTOP)
    try:
        assert desk.ask("check", "clean.py").err == "[None]"
    finally:
        os.kill(warm, signal.SIGCONT)
    wait_until(lambda: not forks_of(desk), "for the end of the fork")


def test_files_that_only_the_caller_has_open_are_read_by_itself(desk: Desk) -> None:
    assert desk.ask("check", "--baseline", "/dev/fd/9").err == "[None]"


def warm_of(desk: Desk) -> set[int]:
    """Return the desk's warm process."""
    return {pid for pid, parent in _processes(desk).items() if parent not in _processes(desk)}


def forks_of(desk: Desk) -> list[int]:
    """Return the processes that the desk's warm process has forked."""
    found = _processes(desk)
    return [pid for pid, parent in found.items() if parent in found]


def _processes(desk: Desk) -> dict[int, int]:
    """Return the warm process of the desk and its forks, with their parents."""
    listing = subprocess.run(
        ["ps", "-eww", "-o", "pid,ppid,args"], check=True, capture_output=True, text=True
    )
    rows = [line.split(None, 2) for line in listing.stdout.splitlines() if "warm.process" in line]
    home = str(desk.root.parent)
    return {int(pid): int(parent) for pid, parent, _ in rows if desk_of(pid) == home}


def desk_of(pid: str) -> str:
    """Return the home of a process."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((os.fsdecode(item[5:]) for item in environ if item.startswith(b"HOME=")), "")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_caller_that_sees_other_files_is_refused(desk: Desk) -> None:
    apart = ("unshare", "--map-root-user", "--mount")
    covered = ("sh", "-c", 'mount -t tmpfs none . && cd "$PWD" && exec "$@"', "sh")
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("user namespaces are off")
    assert desk.ask("check", "clean.py", before=apart).err == "[0]", "it sees the same files"
    assert desk.ask("check", "clean.py", before=(*apart, *covered)).err == "[None]"


def test_a_changed_module_is_noticed() -> None:
    before = file_times()
    file = Path(sys.modules["tests.cli.conftest"].__file__ or "")
    assert file in before
    os.utime(file, ns=(0, before[file]))
    assert file_times() == before
    changed = before[file] + 1_000_000
    os.utime(file, ns=(changed, changed))
    try:
        assert file_times() != before
    finally:
        os.utime(file, ns=(before[file], before[file]))


def test_it_ends_with_the_daemon(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.remora("hub", "start", cwd=desk.root).code == 0
    wait_until(desk.has_warm_process, "for the warm process")
    desk.remora("hub", "stop", cwd=desk.root)
    wait_until(lambda: not desk.has_warm_process(), "for its end")
