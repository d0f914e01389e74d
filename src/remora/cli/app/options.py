"""The global options, and the base classes of commands."""

import functools
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from remora.cli.app.command_list import GLOBAL_OPTIONS

WHEN = {"always": True, "never": False, "auto": None}
"""Values of `--color`, and what they force."""
MAX_SECONDS = 1e8
"""Maximum of a time limit, about three years. Timers of the system refuse much longer ones."""
_META = "remora.options"
BRIEF = {
    "analyze": "operations node changed model select unsafe_fixes max_time dry_run resume json help_all"
}
"""Options that the help of a command shows without `--help-all`, if it has too many."""
_HYPHEN = "\u2011"


class _Seconds(click.FloatRange):
    """A time limit in seconds: more than 0, at most MAX_SECONDS, and a number."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not seconds <= MAX_SECONDS:  # also if it is nan
            self.fail(f"{value} is not a number of at most {MAX_SECONDS:,.0f}", param, ctx)
        return seconds


PATH: click.Path = click.Path(path_type=Path)
SECONDS: click.FloatRange = _Seconds(min=0, min_open=True)
model_option = click.option(
    "--model", metavar="M", help="Model name or server address. [env: REMORA_MODEL]"
)
select_option = click.option(
    "--select", metavar="RULES", multiple=True,
    help="Ruff rules to check, such as F,UP, ALL or default; repeatable.",
)  # fmt: skip
unsandboxed_option = click.option(
    "--allow-unsandboxed", is_flag=True, help="Run the project's code even below isolation level 2."
)
rule_option = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Select hunks that fix only these rules, e.g. F401, UP or 'missing annotation'; "
    "repeatable.",
)
trust_option = click.option(
    "--trust-run", is_flag=True, help="Use a run that this installation did not start."
)
json_lines_option = click.option(
    "--json-lines", is_flag=True, help="Print each event as it happens, one JSON object per line."
)


def operations_option(about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that selects operations."""
    return click.option("-o", "--operation", "operations", metavar="OP", multiple=True, help=about)


def changed_option(about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that names a revision to compare with, or HEAD."""
    return click.option("--changed", is_flag=False, flag_value="", metavar="[REV]", help=about)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The global options. `root` and `config` are unresolved paths, as given by the user."""

    root: Path | None
    config: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False


class _HelpFormatter(click.HelpFormatter):
    """Formats help pages for any terminal. click's formatter needs 50 columns.

    Names such as `--trust-run` are not broken at their hyphens.
    """

    def __init__(self, width: int | None = None, max_width: int | None = None) -> None:
        columns = min(get_terminal_size().columns, max_width or 80)
        super().__init__(width=width or columns - 2)

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of terms. On a narrow page, texts begin below all but the shortest terms."""
        rows = [(term, text.replace("-", _HYPHEN)) for term, text in rows]
        super().write_dl(rows, min(col_max, max(10, self.width - 48)), col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_HYPHEN, "-")


class _HelpContext(click.Context):
    formatter_class = _HelpFormatter


class StrictCommand(click.Command):
    """A command that refuses an option that takes one value and is given twice."""

    context_class = _HelpContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of a command.

        Raises UsageError if an option that takes one value is given twice. click keeps the last one.
        """
        if not ctx.resilient_parsing:
            *_, given = self.make_parser(ctx).parse_args(list(args))
            twice = (parameter for parameter, times in Counter(given).items() if times > 1)
            for option in twice:
                if isinstance(option, click.Option) and not (option.multiple or option.is_flag):
                    raise _given_twice(option, ctx)
        return super().parse_args(ctx, args)


class RemoraCommand(StrictCommand):
    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += global_options()
        self.examples = examples
        self.brief = BRIEF.get(str(self.name), "").split()
        if self.brief:
            self.params.append(_option("--help-all", "Show all options and exit."))
            self.params[-1].callback = show_all

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        whole = self.params
        self.params = [option for option in whole if not self.brief or option.name in self.brief]
        super().format_options(ctx, formatter)
        self.params = whole

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        from textwrap import TextWrapper, indent

        wrapper = TextWrapper(formatter.width - 4, subsequent_indent="  ", break_long_words=False)
        wrapper.break_on_hyphens = False
        with formatter.section("Examples"):
            for example in self.examples:
                words = (word.replace(" ", "\0") for word in shlex.split(example, posix=False))
                lines = wrapper.wrap(" ".join(words))
                shown = " \\\n".join(lines).replace("\0", " ")
                formatter.write(indent(shown, "  ") + "\n")


def global_options() -> list[click.Parameter]:
    """Return a new set of global options for a command. Use `options_of` to get their values."""
    return [_option(words, about) for words, about in GLOBAL_OPTIONS.items()]


def show_all(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    """Print the help of a command with all options, and exit."""
    if wanted:
        vars(ctx.command)["brief"] = []
        click.echo(ctx.get_help())
        ctx.exit()


def command(name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., int]], click.Command]:
    """Declare a command.

    The decorated function takes `Options` as its first argument, and returns the exit code.
    """

    def declare(function: Callable[..., int]) -> click.Command:
        @functools.wraps(function)
        @click.pass_context
        def run(ctx: click.Context, /, *args: Any, **kwargs: Any) -> int:
            return function(options_of(ctx), *args, **kwargs)

        return click.command(name, cls=RemoraCommand, examples=examples)(run)

    return declare


def options_of(ctx: click.Context) -> Options:
    """Return the global options parsed so far. Options override environment variables."""
    given: Mapping[str, Any] = ctx.meta.get(_META, {})

    def path(name: str, variable: str) -> Path | None:
        value = given.get(name) or os.environ.get(variable)
        return Path(value) if value else None

    return Options(
        root=path("root", "REMORA_ROOT"),
        config=path("config", "REMORA_CONFIG"),
        json="json" in given,
        quiet="quiet" in given,
        verbose="verbose" in given,
    )


def _option(words: str, about: str) -> click.Option:
    """Parse an entry of `GLOBAL_OPTIONS`.

    `-v, --verbose` is a flag, and `--root DIR` is an option with a value.
    """
    *short, last = words.split(", ")
    name, _, metavar = last.partition(" ")
    settings: dict[str, Any] = {"type": PATH, "metavar": metavar} if metavar else {"is_flag": True}
    if metavar == "WHEN":
        settings["type"] = click.Choice(tuple(WHEN))
    return click.Option(
        [*short, name], help=about, expose_value=False, is_eager=True, callback=_keep, **settings
    )


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and value is not False:
        kept = ctx.meta.setdefault(_META, {})
        if value is not True and parameter.name in kept:  # before the command, and after it
            raise _given_twice(parameter, ctx)
        kept[parameter.name] = value


def _given_twice(option: click.Parameter, ctx: click.Context) -> click.UsageError:
    return click.UsageError(f"{option.opts[-1]} is given twice and takes one value", ctx)


def use_colors(args: Sequence[str], environ: Mapping[str, str]) -> bool | None:
    """Return True to force colors on, False to force them off, or None to detect a terminal.

    `--color` has the highest priority, followed by NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE.
    """
    for number, word in enumerate(args):
        if word == "--":
            break
        name, _, value = word.partition("=")
        if name == "--color":
            found = value or next(iter(args[number + 1 :]), "")
            if WHEN.get(found) is not None:
                return WHEN[found]
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0")
    return True if forced not in ("", "0") else None
