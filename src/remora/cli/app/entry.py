"""A command line carried out, and how every failure ends."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from remora.cli.app.root_group import TopGroup
from remora.errors import RemoraError

_HALF = "nothing stays half done: the next command completes or takes back what was begun"
_BROKEN = (
    "a package that Remora needs cannot be loaded: install Remora again, with its dependencies"
)
_BUG = "this is a bug in Remora; run it again with -v for the traceback, and report that, please"


def start(args: Sequence[str]) -> int:
    """Run one command line as a process does: with its streams and signals. The exit code."""
    _open_missing()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names that the terminal cannot spell are escaped
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _end)
    code = run(args)
    try:
        sys.stdout.flush()
    except OSError as error:
        return output_lost(error) or code
    return code


def output_lost(error: OSError) -> int:
    """Let go of what could not be printed and say so; 0 where the reader has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if isinstance(error, BrokenPipeError) else _refused((), error)


def _open_missing() -> None:
    """A stream that was closed before we began (`>&-`) leads nowhere; Python has none then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _end(*_: object) -> None:
    """Somebody wants us to end: the same as Ctrl-C, so that nothing is left lying about."""
    raise KeyboardInterrupt


def run(args: Sequence[str]) -> int:
    """Run one command line; every failure is told on stderr (and as JSON where asked)."""
    verbose = "-v" in args or "--verbose" in args
    if verbose:
        _show_tracebacks()
    try:
        colour = False if os.environ.get("NO_COLOR") else None
        result = TopGroup().main(list(args), "remora", standalone_mode=False, color=colour)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _misused(error, args)
    except RemoraError as error:
        return _told(args, error.exit_code, error.code, error.message, error.hint)
    except (click.Abort, KeyboardInterrupt):
        return _told(args, 130, "interrupted", "interrupted", _HALF)
    except OSError as error:  # what nobody below had a better word for, our own output's too
        return _refused(args, error)
    except Exception as error:
        if verbose:
            raise
        return _unforeseen(args, error)


def _show_tracebacks() -> None:
    """Also those of faults that cost one job and not the command."""
    import logging

    if logging.lastResort is not None:  # it writes to what stderr is at the time
        logging.getLogger("remora.text").addHandler(logging.lastResort)


def _unforeseen(args: Sequence[str], error: Exception) -> int:
    if isinstance(error, ImportError):  # our own modules are all there, and a package may be not
        return _told(args, 3, "broken_installation", str(error), _BROKEN)
    return _told(args, 1, "bug", f"{type(error).__name__}: {error}", _BUG)


def _refused(args: Sequence[str], error: OSError) -> int:
    with suppress(OSError):  # it may be our own output that cannot be written
        _told(args, 3, "disk_error", str(error), "check the disk and its permissions")
    return 3


def _misused(error: click.ClickException, args: Sequence[str]) -> int:
    ctx, message = getattr(error, "ctx", None), error.format_message()
    if isinstance(error, click.MissingParameter):  # it lists choices one to a line
        message = " ".join(message.split())
    if message.startswith("Usage:"):  # a group alone: click answers with its help
        if "--json" not in args:
            click.echo(message, err=True)
            return error.exit_code
        message = "a command is missing"
    hint = f"`{ctx.command_path} --help` tells what there is" if ctx is not None else ""
    if isinstance(error, click.MissingParameter) and error.param and error.param.name == "run":
        hint = "`last` is the newest run; `remora runs` lists all"
    if isinstance(error, click.NoSuchOption) and ctx is not None and ctx.info_name == "observe":
        hint = "what is pytest's stands behind `--`: `remora hub observe -- pytest tests -q`"
    return _told(args, error.exit_code, "usage_error", message, hint)


def _told(args: Sequence[str], exit_code: int, code: str, message: str, hint: str = "") -> int:
    """An error in words on stderr; with `--json` its document on stdout too."""
    from remora.cli.app.output import print_error

    # a line that could not be parsed has no options yet: the words themselves are asked
    print_error(code, message, hint, as_json="--json" in args)
    return exit_code
