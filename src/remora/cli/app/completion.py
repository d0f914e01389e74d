"""The `completion` command, and the shell completions themselves."""

import re

import click
from click.shell_completion import CompletionItem, FishComplete, ShellComplete, ZshComplete
from click.shell_completion import split_arg_string as split_words

from remora.cli.app.options import Options, command

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
    examples=(
        "remora completion bash > ~/.local/share/bash-completion/completions/remora",
        "remora completion zsh > ~/.zfunc/_remora",
        "remora completion fish > ~/.config/fish/completions/remora.fish",
    ),
)
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
def completion(options: Options, shell: str) -> int:
    """Print a shell completion script.

    The script completes commands, options, and the names of runs, agents, operations and nodes.
    Names with characters that a shell treats specially are left out. For zsh, write it to a folder
    that is added to fpath before compinit runs.
    """
    del options
    found = _SHELLS[shell](click.Group("remora"), {}, "remora", VARIABLE)
    click.echo(found.source_template % found.source_vars())
    return 0
