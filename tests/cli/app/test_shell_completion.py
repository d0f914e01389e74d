"""Completion in real interactive shells: names that a project chooses are quoted and run nothing."""

import fcntl
import os
import pty
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from remora.cli.app.completion import print_completions
from tests.cli.conftest import Remora, command, user_without_weights, write

NAMES = (
    "$(touch ran).py", "`touch ran`.py", "\\'$(touch ran)#.py", ";touch ran;.py", "it's.py",
    'do"quote.py', "ba\\slash.py", "hi!1.py", "~tilde.py", "in a row.py", "com,ma.py", "co:lon.py",
    "=equal.py", "var=~.py", "at@x.py", "{b,c}.py", "[ab]*?.py", "#hash.py", "&amp|>.py", "é文.py",
    "^c^d.py", "x\\n\\tq.py", "-x.py", "two$1.py", "two;2.py",
)  # fmt: skip
UNSHOWN = (
    "new\nline.py",
    "plain\nplain\n$(touch ran)\n_.py",
    "tab\tname.py",
    "esc\x1b[31m.py",
    "bidi\u202e.py",
)
"""Names that are not completed."""
TYPED = {
    r"\$": NAMES[0],
    "'$": NAMES[0],
    r"\`": NAMES[1],
    "'`": NAMES[1],
    r"\\": NAMES[2],
    r"\;": NAMES[3],
    "it": NAMES[4],
    '"it': NAMES[4],
    "'it": NAMES[4],
    "do": NAMES[5],
    '"do': NAMES[5],
    "ba": NAMES[6],
    '"ba': NAMES[6],
    "hi": NAMES[7],
    '"hi': NAMES[7],
    "'hi": NAMES[7],
    r"\~": NAMES[8],
    r"in\ ": NAMES[9],
    '"in a ': NAMES[9],
    "com": NAMES[10],
    "co:": NAMES[11],
    "va": NAMES[13],
    "at@": NAMES[14],
    r"\{": NAMES[15],
    r"\[": NAMES[16],
    r"\#": NAMES[17],
    r"\&": NAMES[18],
    "é": NAMES[19],
    "'^": NAMES[20],
    "x": NAMES[21],
    "-- -": NAMES[22],
}
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
    root = write(folder / "project", dict.fromkeys((*NAMES, *UNSHOWN), "import os\n"))
    done = remora("analyze", "-o", "lint", "--select", "F401", cwd=root)
    assert f"{len(NAMES) + len(UNSHOWN)} jobs" in done.out, done
    return remora, root


@pytest.fixture(params=SHELLS)
def terminal(
    request: pytest.FixtureRequest, odd: tuple[Remora, Path], tmp_path: Path
) -> Iterator[Terminal]:
    if not shutil.which(request.param):
        pytest.skip(f"needs {request.param}: it is not on PATH")
    found = Terminal(request.param, *odd, tmp_path)
    yield found
    found.close()


def test_completion_of_a_name_runs_nothing(terminal: Terminal, odd: tuple[Remora, Path]) -> None:
    assert terminal.arguments("remora diff last \\$\t") == ["diff", "last", "$(touch ran).py"]
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


@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_all_names_are_not_inserted_for_an_open_quote(
    terminal: Terminal, odd: tuple[Remora, Path], quote: str
) -> None:
    """bash deletes the quote for Alt-*, so that a quoted name would be a command."""
    typed = f"remora diff last {quote};"
    assert terminal.arguments(f"{typed}\x1b*\r{quote}") == ["diff", "last", ";\n"]
    assert not (odd[1] / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
def test_all_names_are_inserted_quoted(terminal: Terminal, odd: tuple[Remora, Path]) -> None:
    assert terminal.arguments("remora diff last \x1b*")[2:] == sorted(
        name for name in NAMES if not name.startswith("-")
    )
    assert terminal.arguments("remora diff last co:\x1b*") == ["diff", "last", "co:"]
    assert not (odd[1] / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
@pytest.mark.parametrize("setting", ["show-all-if-ambiguous", "show-all-if-unmodified"])
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_every_setting_of_bash_keeps_an_open_quote(
    terminal: Terminal, setting: str, quote: str
) -> None:
    terminal.arguments(f"bind 'set {setting} on'; bind '\"\\C-t\": menu-complete'; remora ready")
    assert terminal.arguments(f"remora diff last {quote}in\t") == ["diff", "last", "in a row.py"]
    assert terminal.arguments(f"remora diff last {quote}in\x14") == ["diff", "last", "in a row.py"]


@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
def test_a_backslash_that_two_names_begin_with_is_completed(terminal: Terminal) -> None:
    assert terminal.arguments("remora diff last two\t\x1b*")[2:] == ["two$1.py", "two;2.py"]


@pytest.mark.slow
def test_names_reach_the_command_as_they_are(terminal: Terminal, odd: tuple[Remora, Path]) -> None:
    got = {typed: terminal.arguments(f"remora diff last {typed}\t") for typed in TYPED}
    assert got == {
        typed: ["diff", "last", *(["--"] if name.startswith("-") else []), name]
        for typed, name in TYPED.items()
    }
    assert not (odd[1] / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["", "ne", "plain", "tab", "esc", "bidi"])
def test_names_that_cannot_be_shown_are_not_completed(terminal: Terminal, typed: str) -> None:
    assert terminal.arguments(f"remora diff last {typed}\t") == [
        "diff",
        "last",
        *filter(None, [typed]),
    ]


Complete = Callable[[list[str], str, str], list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Complete:
    """Return a function of names, what is typed and what bash replaces of it: what bash inserts."""

    def inserted(names: list[str], typed: str, replaced: str) -> list[str]:
        name = click.Choice(names)
        show = click.Command("show", params=[click.Argument(["name"], type=name)])
        monkeypatch.setenv("COMP_WORDS", f"remora show {typed}")
        monkeypatch.setenv("COMP_REPLACED", replaced)
        monkeypatch.setenv("COMP_TYPE", "9")
        print_completions(click.Group("remora", {"show": show}), "bash_complete")
        lines = capsys.readouterr().out.splitlines()
        return [line.removeprefix("plain,") for line in lines if line]

    return inserted


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_bash_reads_every_character_as_it_is(complete: Complete, quote: str) -> None:
    characters = [chr(number) for number in range(32, 127)]
    names = [f"a{first}{second}.py" for first in characters for second in ("", "'", "$(touch x)")]
    inserted = complete(names, f"{quote}a", "a")
    words = " ".join(f"{quote}{each}{quote}" for each in inserted)
    script = f"set -f; printf '%s\\0' {words}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == names


@pytest.mark.parametrize(
    ("typed", "replaced", "inserted"),
    [
        ("src/a.py:f", "f", ["f\\$"]),
        ("src/'a.py:f", "a.py:f", ["a.py:f$"]),
        (r"src/a.py\:f", r"src/a.py\:f", ["src/a.py:f\\$"]),
        ("$'src/a", "src/a", []),
        ("`src/a", "src/a", []),
        ("'src'/a", "a", []),
        ("src/a.py:f", "elsewhere", []),
    ],
)
def test_only_a_start_that_is_understood_is_completed(
    complete: Complete, typed: str, replaced: str, inserted: list[str]
) -> None:
    assert complete(["src/a.py:f$"], typed, replaced) == inserted


@pytest.mark.parametrize(
    ("quote", "inserted"), [("", [r"a\$x", r"a\;y"]), ('"', [r"a\$x", "a;y"]), ("'", [])]
)
def test_a_last_backslash_begins_a_quoted_character(
    complete: Complete, quote: str, inserted: list[str]
) -> None:
    assert complete(["a$x", "a;y"], f"{quote}a\\", "a\\") == inserted
    assert complete(["a$x", "a;y"], f"{quote}a\\\\", "a\\\\") == []


@pytest.mark.parametrize("typed", ["", "'", '"'])
def test_names_that_commands_read_as_options_are_not_completed(
    complete: Complete, typed: str
) -> None:
    assert complete(["--root=x", "a"], typed, "") == ["a"]


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
