"""`completion`: shell completion scripts and the completions themselves."""

import click
from click.shell_completion import CompletionItem, FishComplete, ShellComplete, ZshComplete
from click.shell_completion import split_arg_string as split_words

from remora.cli.app.options import Options, command

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(ShellComplete):
    """Bash completion. Bash splits words at colons, which occur in node names."""

    name = "bash"
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        import os

        line = os.environ["COMP_WORDS"]
        words = split_words(line)
        last = "" if not words or line[-1:].isspace() else words.pop()
        self._typed = last if ":" in os.environ.get("COMP_BREAKS", "") else ""
        return words[1:], last

    def format_completion(self, item: CompletionItem) -> str:
        """Remove the part that bash treats as earlier words."""
        cut = self._typed.rfind(":") + 1
        return f"{item.type},{item.value[cut:]}"


VARIABLE = "_REMORA_COMPLETE"
"""Environment variable that the script sets to request completions."""
_SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


def print_completions(root: click.Group, asked: str) -> int:
    """Print completions and return the exit code. `asked` is, for example, `bash_complete`."""
    shell = _SHELLS.get(asked.partition("_")[0])
    if shell is None:
        return 2
    context = {"help_option_names": ["-h", "--help"]}
    click.echo(shell(root, context, "remora", VARIABLE).complete())
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
    For zsh, the script's folder must be in fpath before compinit runs.
    """
    del options
    found = _SHELLS[shell](click.Group("remora"), {}, "remora", VARIABLE)
    click.echo(found.source_template % found.source_vars())
    return 0
