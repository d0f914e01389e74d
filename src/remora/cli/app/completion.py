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
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_REPLACED="$2" COMP_TYPE="$COMP_TYPE" \\
        %(complete_var)s=bash_complete %(prog_name)s)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_SPECIAL = re.compile(r"[^\w/.:,=+-]")
"""A character that bash may treat specially outside quotes. `~` and `!` are two of them."""
_KEPT = re.compile(r"(?:^|\s)(?P<text>(?:[\w/.:,=+@%-]|\\.)*)(?P<quote>['\"]?)$")
"""The start of a word that bash keeps when it completes the rest, with an open quote.

Anything else, such as `$'`, is not completed.
"""
_KEEPING = frozenset(map(str, map(ord, "\t?!@%")))
"""The types of completion (COMP_TYPE) that keep the start of a word and its open quote.

`insert-completions` (Alt-*) deletes the quote, and puts the start before the first name only.
"""


class _Names(ShellComplete):
    """Completion that leaves out names that no terminal can show and no command would accept."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Leave out names with control characters, and names that would be read as options."""
        is_option = incomplete.startswith("-") or "--" in args
        return [
            item
            for item in super().get_completions(args, incomplete)
            if item.type != "plain"
            or (item.value.isprintable() and (is_option or not item.value.startswith("-")))
        ]


class Bash(_Names):
    """Completion for bash, which inserts what is printed here as it is: it is quoted here.

    bash replaces the word from its last `:` or `=`, or from its open quote.
    """

    name = "bash"
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        import os

        line, replaced = os.environ["COMP_WORDS"], os.environ.get("COMP_REPLACED")
        kept = _KEPT.search(line.removesuffix(replaced or ""))
        if replaced is None or kept is None or not line.endswith(replaced):
            raise click.UsageError("this word cannot be completed")
        self._quote = kept["quote"]
        self._kept = _unquoted(kept["text"], "")
        if (self._quote or self._kept) and os.environ.get("COMP_TYPE") not in _KEEPING:
            raise click.UsageError("these names cannot be quoted")
        incomplete = self._kept + _unquoted(replaced, self._quote)
        is_option = incomplete.startswith("-") and "=" in incomplete
        self._option = incomplete[: incomplete.index("=") + 1] if is_option else ""
        return split_words(line[: kept.start("text")])[1:], incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Leave out what would begin with the open quote: readline would drop one of the two."""
        return [
            item
            for item in super().get_completions(args, incomplete)
            if (self._option + item.value).startswith(self._kept)
            and not self._quoted(item).startswith(self._quote or "\n")
        ]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{self._quoted(item)}"

    def _quoted(self, item: CompletionItem) -> str:
        """Return the part that bash inserts, quoted for the open quote, or for none."""
        text = f"{self._option}{item.value}"[len(self._kept) :]
        if self._quote == "'":
            return text.replace("'", "'\\''")
        if self._quote:  # history is also expanded in double quotes
            return re.sub(r"[\\$`\"]", r"\\\g<0>", text).replace("!", "\"'!'\"")
        return _SPECIAL.sub(r"\\\g<0>", text)


class Fish(_Names, FishComplete):
    """Completion for fish, which quotes names by itself. Names may contain commas."""

    source_template = FishComplete.source_template.replace("split ", "split --max 1 ", 1)


class Zsh(_Names, ZshComplete):
    """Completion for zsh, which quotes names by itself."""


def _unquoted(text: str, quote: str) -> str:
    """Return the text that is meant. A last backslash may be the common start of two names."""
    if quote == "'":
        return text
    return re.sub(r"\\([\\$`\"]|\Z)" if quote else r"\\(.|\Z)", r"\1", text)


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
    Names are quoted for the shell, and names with control characters are left out. For zsh, write
    it to a folder that is added to fpath before compinit runs.
    """
    del options
    found = _SHELLS[shell](click.Group("remora"), {}, "remora", VARIABLE)
    click.echo(found.source_template % found.source_vars())
    return 0
