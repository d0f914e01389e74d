"""Runs a command line, and turns every failure into a message and an exit code."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import ENOMEM

import click

from remora.cli.app.lazy_group import TopGroup
from remora.cli.app.options import use_colors
from remora.errors import RemoraError

_COMPLETE = "_REMORA_COMPLETE"
"""Variable by which click's completion scripts ask."""
_INTERRUPTED_HINT = "nothing is left half-done: the next command completes or rolls back"
_REINSTALL_HINT = "a required package cannot be imported: reinstall Remora with its dependencies"
_MEMORY_HINT = "free memory, or raise the limit (see `ulimit -v`), and try again"
_NO_THREAD = "can't start new thread"
"""Python's message if the system refuses a thread; it has no class of its own."""
_THREAD_HINT = "raise the limits of memory and processes (see `ulimit -v` and `ulimit -u`)"
_BUG_HINT = "this is a bug in Remora; please report it, with the traceback from -v"


def start(args: Sequence[str]) -> int:
    """Set up streams and signals, run a command line and return its exit code."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # escape what the terminal cannot encode
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _raise_interrupt)
    code = run(args)
    try:
        sys.stdout.flush()
    except OSError as error:
        return output_lost(error) or code
    return code


def output_lost(error: OSError) -> int:
    """Discard output that could not be written, report the error and return the exit code.

    If the reader has closed the pipe, nothing is reported and the exit code is 0.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if isinstance(error, BrokenPipeError) else _report_disk_error((), error)


def _open_missing_streams() -> None:
    """Use /dev/null for streams closed at startup (`<&-`), which Python sets to None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in this order each gets its own number
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _raise_interrupt(*_: object) -> None:
    """Handle SIGTERM like Ctrl-C, so that everything is cleaned up."""
    raise KeyboardInterrupt


def run(args: Sequence[str]) -> int:
    """Run a command line and return its exit code.

    Failures are printed to stderr and, with `--json`, also to stdout as a document.
    """
    root = TopGroup()
    if asked := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        help_names = {"help_option_names": ["-h", "--help"]}
        with suppress(click.ClickException):  # such as an unknown command: nothing to complete
            return shell_complete(root, help_names, "remora", _COMPLETE, asked)
        return 2
    colors = use_colors(args, os.environ)
    with click.Context(root, info_name="remora", color=colors).scope(cleanup=False):
        return _run_command(root, args, color=colors)


def _run_command(root: click.Group, args: Sequence[str], *, color: bool | None) -> int:
    verbose = "-v" in args or "--verbose" in args
    if verbose:
        _show_tracebacks()
    try:
        result = root.main(list(args), "remora", standalone_mode=False, color=color)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _report_usage_error(error, args)
    except RemoraError as error:
        return _print_error(args, error.exit_code, error.code, error.message, error.hint)
    except (click.Abort, KeyboardInterrupt):
        return _print_error(args, 130, "interrupted", "interrupted", _INTERRUPTED_HINT)
    except OSError as error:  # unexpected; printing may also fail
        return _report_disk_error(args, error)
    except Exception as error:
        if verbose:
            raise
        return _report_bug(args, error)


def _show_tracebacks() -> None:
    """Also print tracebacks of internal errors that ended a single job."""
    import logging

    if logging.lastResort is not None:  # it looks up stderr on each write
        logging.getLogger("remora.bugs").addHandler(logging.lastResort)


def _report_bug(args: Sequence[str], error: Exception) -> int:
    if isinstance(error, MemoryError):
        return _print_error(args, 3, "out_of_memory", str(error) or "out of memory", _MEMORY_HINT)
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return _print_error(args, 3, "out_of_memory", str(error), _THREAD_HINT)
    if isinstance(error, ImportError):  # a dependency may be missing
        return _print_error(args, 3, "broken_installation", str(error), _REINSTALL_HINT)
    return _print_error(args, 1, "bug", f"{type(error).__name__}: {error}", _BUG_HINT)


def _report_disk_error(args: Sequence[str], error: OSError) -> int:
    with suppress(OSError):  # stderr itself may fail
        if error.errno == ENOMEM:
            return _print_error(args, 3, "out_of_memory", str(error), _MEMORY_HINT)
        _print_error(args, 3, "disk_error", str(error), "check the disk and its permissions")
    return 3


def _report_usage_error(error: click.ClickException, args: Sequence[str]) -> int:
    ctx, message = getattr(error, "ctx", None), error.format_message()
    if isinstance(error, click.MissingParameter):  # click puts each choice on its own line
        message = " ".join(message.split())
    if message.startswith("Usage:"):  # a group without a command: click returns its help
        if "--json" not in args:
            click.echo(message, err=True)
            return error.exit_code
        message = "missing command"
    hint = f"see `{ctx.command_path} --help`" if ctx is not None else ""
    if isinstance(error, click.MissingParameter) and error.param and error.param.name == "run":
        hint = "`last` is the newest run; `remora runs` lists all runs"
    return _print_error(args, error.exit_code, "usage_error", message, hint)


def _print_error(args: Sequence[str], exit_code: int, code: str, message: str, hint: str) -> int:
    """Print an error to stderr, and with `--json` also to stdout. Return `exit_code`."""
    from remora.cli.app.output import print_error

    # the line may not have been parsed, so look for the option in its words
    print_error(code, message, hint, as_json="--json" in args)
    if "--json-lines" in args:
        import json

        import msgspec

        from remora.runs.records.run_events import Failed

        failed = Failed(code=code, message=message, hint=hint)
        click.echo(json.dumps(msgspec.to_builtins(failed)))
    return exit_code
