"""The `remora` command: which commands there are, and how every failure ends."""

import os
import signal
import sys
from collections.abc import Sequence

import click

from remora.cli.lazy import LazyGroup
from remora.errors import RemoraError

COMMANDS = {
    "init": ("remora.cli.init:init", "Write a commented remora.yaml."),
    "analyze": ("remora.cli.analyze:analyze", "Plan and run the jobs: the main command."),
    "runs": ("remora.cli.runs:runs", "List the runs of this project."),
    "show": ("remora.cli.runs:show", "Show what became of a run's jobs."),
    "diff": ("remora.cli.runs:diff", "Show what a run would change."),
    "accept": ("remora.cli.review:accept", "Write verified changes to your files."),
    "reject": ("remora.cli.review:reject", "Say no to changes."),
    "trace": ("remora.cli.trace:trace", "Look into the Long Track, and verify it."),
    "agents": ("remora.cli.agents:agents", "The agents, yours and the built-in ones."),
    "model": ("remora.cli.model:model", "The model that decides, and its weights."),
    "schema": ("remora.cli.schema:schema", "JSON Schemas of what Remora reads and writes."),
    "doctor": ("remora.cli.doctor:doctor", "What this machine offers, and what is missing."),
}
_BUG = "this is a bug in Remora; run it again with -v for the traceback, and report that, please"


_ABOUT = """Small models maintain real code, and every turn of it can be proved.

Start with `remora analyze`, look at the result with `remora diff last`, and take it with `remora
accept last --all`. Nothing of yours is touched before that.
"""
_EXIT_CODES = (
    "Exit codes: 0 done; 1 done, but something needs attention; 2 wrong usage or configuration; "
    "3 something outside failed; 130 interrupted."
)


def cli() -> LazyGroup:
    """The whole command line; none of the commands is loaded yet."""
    return LazyGroup(
        "remora",
        lazy=COMMANDS,
        help=_ABOUT,
        epilog=_EXIT_CODES,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def main() -> None:
    """The entry point: runs the command of `sys.argv` and exits with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names that the terminal cannot spell are escaped
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(args: Sequence[str]) -> int:
    """Run one command line; every failure is told on stderr (and as JSON where asked)."""
    try:
        colour = False if os.environ.get("NO_COLOR") else None
        result = cli().main(list(args), "remora", standalone_mode=False, color=colour)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _misused(error, args)
    except RemoraError as error:
        return _told(args, error.exit_code, error.code, error.message, error.hint)
    except (click.Abort, KeyboardInterrupt):
        return _told(args, 130, "interrupted", "interrupted; nothing of yours was changed")
    except Exception as error:
        if "-v" in args or "--verbose" in args:
            raise
        return _told(args, 1, "bug", f"{type(error).__name__}: {error}", _BUG)


def _misused(error: click.ClickException, args: Sequence[str]) -> int:
    ctx = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    hint = f"`{ctx.command_path} --help` tells what there is" if ctx is not None else ""
    return _told(args, error.exit_code, "usage_error", error.format_message(), hint)


def _told(args: Sequence[str], exit_code: int, code: str, message: str, hint: str = "") -> int:
    """An error in words on stderr; with `--json` its document on stdout too."""
    from remora.cli.output import print_error

    # a line that could not be parsed has no options yet: the words themselves are asked
    print_error(code, message, hint, as_json="--json" in args)
    return exit_code
