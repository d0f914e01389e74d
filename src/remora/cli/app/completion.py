"""The `completion` command, and the shell completions themselves."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, FishComplete, ShellComplete, ZshComplete
from click.shell_completion import split_arg_string as split_words

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.errors import DiskError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_BASH = """\
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_REPLACED="$2" %(complete_var)s=bash_complete %(prog_name)s)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_PLAIN = re.compile(r"[\w/.:=+@-]*")
"""Names without a character that a shell treats specially. Others are not completed."""


class _Names(ShellComplete):
    """Completion that leaves out names that must be quoted, or would be read as options."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        is_option = incomplete.startswith("-") or "--" in args
        return [
            item
            for item in super().get_completions(args, incomplete)
            if item.type != "plain"
            or (_PLAIN.fullmatch(item.value) and (is_option or not item.value.startswith("-")))
        ]


class Bash(_Names):
    """Completion for bash, which replaces the word from its last `:` or `=`."""

    name = "bash"
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        import os

        line, replaced = os.environ["COMP_WORDS"], os.environ.get("COMP_REPLACED")
        word = line.rpartition(" ")[2]
        if replaced is None or not (_PLAIN.fullmatch(word) and word.endswith(replaced)):
            raise click.UsageError("this word cannot be completed")
        self._kept = word.removesuffix(replaced)
        is_option = word.startswith("-") and "=" in word
        self._option = word[: word.index("=") + 1] if is_option else ""
        return split_words(line.removesuffix(word))[1:], word

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{(self._option + item.value).removeprefix(self._kept)}"


class Fish(_Names, FishComplete):
    """Completion for fish."""


class Zsh(_Names, ZshComplete):
    """Completion for zsh."""


VARIABLE = "_REMORA_COMPLETE"
"""Environment variable that the script sets to request completions."""
_SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def print_completions(root: click.Group, asked: str) -> int:
    """Print completions and return the exit code.

    `asked` is an instruction such as `bash_complete`.
    """
    shell = _SHELLS.get(asked.partition("_")[0])
    if shell is None:
        return 2
    context = {"help_option_names": ["-h", "--help"]}
    try:
        click.echo(shell(root, context, "remora", VARIABLE).complete())
    except click.ClickException:  # such as an unknown command: nothing to complete
        return 2
    return 0


@command(
    "completion",
    examples=("remora completion --install", "remora completion zsh > ~/.zfunc/_remora"),
)
@click.argument("shell", type=click.Choice(tuple(_SHELLS)), required=False)
@click.option("--install", is_flag=True, help="Write the script where the shell looks for it.")
def completion(options: Options, shell: str | None, *, install: bool) -> int:
    """Print a shell completion script, or install it.

    The script completes commands, options, and the names of runs, agents, operations and nodes.
    Names with characters that a shell treats specially are left out. Without SHELL, it is for the
    shell in $SHELL. For zsh, its folder must be in fpath before compinit runs.
    """
    import os
    from pathlib import Path

    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise UsageError("no shell given", hint=f"name one: {', '.join(_SHELLS)}")
    found = _SHELLS[shell](click.Group("remora"), {}, "remora", VARIABLE)
    script = found.source_template % found.source_vars()
    if not install:
        click.echo(script)
        return 0
    from remora.regular_file import followed, replace_file

    path = _place_for(shell, os.environ)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(followed(path), f"{script}\n".encode())
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}") from error
    lines = [f"wrote {path}; it is used by shells that you open from now on"]
    if shell == "zsh":
        lines.append(f"if {path.parent} is not in fpath, add before compinit in your .zshrc:")
        lines.append(f"  fpath=({path.parent} $fpath)")
    emit(options, {"shell": shell, "path": str(path)}, lines)
    return 0


def _place_for(shell: str, environ: Mapping[str, str]) -> "Path":
    """Return the user's file from which a shell loads the completions of `remora`."""
    from pathlib import Path

    home = Path(environ.get("HOME") or Path.home())
    if shell == "bash":
        data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        return data / "bash-completion" / "completions" / "remora"
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return config / "fish" / "completions" / "remora.fish"
    return Path(environ.get("ZDOTDIR") or home) / ".zfunc" / "_remora"
