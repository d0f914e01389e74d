"""Completion in real interactive shells: names that a project chooses run nothing."""

import fcntl
import os
import pty
import select
import shlex
import shutil
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from remora.cli.app.completion import print_completions
from tests.cli.conftest import Remora, command, user_without_weights, write

PLAIN = ("comma.py", "co:lon.py", "var=x.py", "at@x.py", "é文.py")
ODD = ("$(touch ran).py", "`touch ran`.py", ";touch ran;.py", "it's.py", "in a row.py", "~tilde.py",
       "hi!1.py", "-x.py", "[ab]*?.py", "new\n$(touch ran)\n_.py", "esc\x1b[31m.py", "bidi\u202e.py")  # fmt: skip
"""Names that are not completed."""
TYPED = {"co:": PLAIN[1], "va": PLAIN[2], "é": PLAIN[4]}
"""What is typed after `remora diff last`, and the name that the command gets after TAB."""
SHELLS = ("bash", "zsh", "fish")
START = {
    "bash": ("--norc", "--noprofile", "-i"),
    "zsh": ("-f", "-i"),
    "fish": ("--no-config", "-i"),
}
LIMIT_S = 30


class Terminal:
    """An interactive shell with completion, whose `remora` only writes its arguments to a file."""

    def __init__(self, shell: str, remora: Remora, root: Path, folder: Path) -> None:
        self._got = folder / "got"
        script = folder / "script"
        script.write_text(remora("completion", shell, cwd=root).out)
        program = folder / "bin" / "remora"
        write(folder, {"bin/remora": PROGRAM.format(real=shlex.join(command(())), got=self._got)})
        program.chmod(0o755)
        environ = {
            **remora.environment,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(root)
            os.execvpe(shell, [shell, *START[shell]], environ)
        size = struct.pack("HHHH", 50, 200, 0, 0)  # fish asks before it lists
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
        if shell == "zsh":
            self._type("autoload -Uz compinit; compinit -u -D\r")
        self._type(f"source {script}\r")
        assert self.arguments("remora ready") == ["ready"]

    def arguments(self, keys: str) -> list[str]:
        """Type `keys` and Enter, and return the arguments that `remora` gets."""
        self._type(f"{keys}\r")
        end, seen = time.monotonic() + LIMIT_S, b""
        while not self._got.exists():
            assert time.monotonic() < end, seen.decode("utf-8", "replace")
            if select.select([self._terminal], [], [], 0.02)[0]:
                seen += os.read(self._terminal, 65536)
        got = self._got.read_text("utf-8").split("\0")[:-1]
        self._got.unlink()
        return got

    def close(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    def _type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())


PROGRAM = """#!/bin/sh
if [ -n "$_REMORA_COMPLETE" ]; then exec {real}; fi
printf '%s\\0' "$@" > '{got}.new'
mv '{got}.new' '{got}'
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Remora, Path]:
    """A project with files of odd names, and a run that changes each of them."""
    folder = tmp_path_factory.mktemp("odd")
    remora = user_without_weights(folder / "home")
    root = write(folder / "project", dict.fromkeys((*PLAIN, *ODD), "import os\n"))
    done = remora("analyze", "-o", "lint", "--select", "F401", cwd=root)
    assert f"{len(PLAIN) + len(ODD)} checked" in done.out, done
    return remora, root


@pytest.fixture(params=["bash", pytest.param("zsh", marks=pytest.mark.slow), "fish"])
def terminal(
    request: pytest.FixtureRequest, odd: tuple[Remora, Path], tmp_path: Path
) -> Iterator[Terminal]:
    if not shutil.which(request.param):
        pytest.skip(f"needs {request.param}: it is not on PATH")
    found = Terminal(request.param, *odd, tmp_path)
    yield found
    found.close()


def test_names_reach_the_command_as_they_are_and_run_nothing(
    terminal: Terminal, odd: tuple[Remora, Path]
) -> None:
    got = {typed: terminal.arguments(f"remora diff last {typed}\t") for typed in TYPED}
    assert got == {typed: ["diff", "last", name] for typed, name in TYPED.items()}
    for typed in (r"\$", "ne", "bidi"):
        assert terminal.arguments(f"remora diff last {typed}\t")[2:] == shlex.split(typed)
    assert not (odd[1] / "ran").exists()


def test_completion_does_not_run_a_program_of_the_project(
    terminal: Terminal, odd: tuple[Remora, Path]
) -> None:
    program = odd[1] / "remora"
    program.write_text('#!/bin/sh\n[ -z "$_REMORA_COMPLETE" ] || echo > ran\n')
    program.chmod(0o755)
    assert terminal.arguments("./remora diff last \t; remora ready") == ["ready"]
    program.unlink()
    assert not (odd[1] / "ran").exists()


Complete = Callable[[list[str], str, str], list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Complete:
    """Return a function of names, what is typed and what bash replaces of it: what bash inserts."""

    def inserted(names: list[str], typed: str, replaced: str) -> list[str]:
        name = click.Choice(names)
        show = click.Command("show", params=[click.Argument(["name"], type=name)])
        monkeypatch.setenv("COMP_WORDS", f"remora show {typed}")
        monkeypatch.setenv("COMP_REPLACED", replaced)
        print_completions(click.Group("remora", {"show": show}), "bash_complete")
        lines = capsys.readouterr().out.splitlines()
        return [line.removeprefix("plain,") for line in lines if line]

    return inserted


def test_bash_gets_the_rest_of_a_plain_word(complete: Complete) -> None:
    for typed, replaced, inserted in (
        ("src/a.py:f", "f", ["f"]),
        ("src/", "src/", ["src/a.py:f"]),
        ("src/'a.py:f", "a.py:f", []),
        (r"src/a.py\:f", r"src/a.py\:f", []),
        ("`src/a", "src/a", []),
        ("src/a.py:f", "elsewhere", []),
        ("", "", ["src/a.py:f"]),
    ):
        names = ["src/a.py:f", "src/a.py:f$", "--root=x"]
        assert complete(names, typed, replaced) == inserted, typed


def test_a_script_of_an_older_version_gets_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", "remora show ")
    show = click.Command("show", params=[click.Argument(["name"], type=click.Choice(["a"]))])
    assert print_completions(click.Group("remora", {"show": show}), "bash_complete") == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_an_unknown_command_shows_nothing(poor: Remora, project: Path, shell: str) -> None:
    line = {"COMP_WORDS": "remora nosuch ", "COMP_REPLACED": "", "COMP_CWORD": "2"}
    asking = Remora(poor.home, {**line, "_REMORA_COMPLETE": f"{shell}_complete"})
    done = asking(cwd=project)
    assert (done.out, done.err) == ("", "")


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".local/share/bash-completion/completions/remora"),
        ("zsh", ".zfunc/_remora"),
        ("fish", "config/fish/completions/remora.fish"),
    ],
)
def test_the_script_of_the_users_shell_is_installed(tmp_path: Path, shell: str, path: str) -> None:
    user = Remora(tmp_path, {"SHELL": f"/usr/bin/{shell}"})
    done = user("completion", "--install", cwd=tmp_path)
    assert (done.code, str(tmp_path / path) in done.out) == (0, True)
    assert (tmp_path / path).read_text() == user("completion", shell, cwd=tmp_path).out
    assert Remora(tmp_path, {"SHELL": "/bin/sh"})("completion", cwd=tmp_path).code == 2
