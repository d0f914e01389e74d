"""The `hub start`, `hub stop` and `hub status` commands."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, note, wrapped
from remora.cli.app.project_context import invocation_of
from remora.cli.hub.hub_options import target_options
from remora.errors import ConfigError
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.hub.process.hub_paths import HubPaths
    from remora.hub.protocol import StatusResult
    from remora.usecases.hub.target import HubTarget


@command(
    "start",
    examples=("remora hub start", "remora hub start --foreground", "remora hub start --http 0"),
)
@target_options
@click.option(
    "--http",
    metavar="[HOST:]PORT",
    help="Also serve HTTP on a loopback address (extra ui or mcp); port 0 picks a free port.",
)
@click.option("--foreground", is_flag=True, help="Run in the foreground and log to stderr.")
@click.option("--detached", is_flag=True, hidden=True)
def start(
    options: Options, target: "HubTarget", http: str | None, foreground: bool, detached: bool
) -> int:
    """Start the project's daemon in the background and wait until it is ready.

    If a daemon is already running, print its status. The daemon reads all files once and then
    follows changes. Until its initial scan is finished, queries read the files directly. Exit with
    3 if the daemon cannot start.
    """
    from remora.hub.process import control
    from remora.usecases.hub.start_daemon import start_hub
    from remora.usecases.hub.target import hub_paths_of

    caller, target = invocation_of(options), replace(target, http=http)
    places = hub_paths_of(caller, target)
    if not foreground:
        try:
            found = start_hub(caller, target)
        except KeyboardInterrupt:
            note(
                options,
                "the daemon is still starting in the background; `remora hub stop` stops it",
            )
            raise
        _print_running(options, places, found, http)
        return 0

    from remora.usecases.hub.run_daemon import announce, run_hub  # imports all of the daemon

    def ready(status: "StatusResult") -> None:
        if detached:
            announce()
        else:
            _print_status(options, places, status)

    is_new = run_hub(caller, target, ready=ready, log_file=detached)
    if not (is_new or detached):
        _print_running(options, places, control.status(places), http)
    return 0


@command("stop", examples=("remora hub stop", "remora hub stop --root ~/src/shop"))
@target_options
def stop(options: Options, target: "HubTarget") -> int:
    """Stop the project's daemon and wait until it has exited.

    The database is kept. If no daemon is running, this command does nothing and exits with 0.
    """
    from remora.hub.process import control
    from remora.usecases.hub.target import hub_paths_of

    places = hub_paths_of(invocation_of(options), target)
    pid = control.stop(places)
    text = "no daemon was running" if pid is None else f"stopped (process {pid})"
    emit(options, _document(control.status(places)), [text])
    return 0


@command("status", examples=("remora hub status", "remora hub status --json"))
@target_options
def status(options: Options, target: "HubTarget") -> int:
    """Show the state of the daemon and its watcher, and the size of the index.

    If no daemon is running, the numbers are read from the database.
    """
    from remora.bootstrap.invocation import is_configured, open_config
    from remora.hub.process import control
    from remora.usecases.hub.target import hub_paths_of

    invocation = invocation_of(options)
    places = hub_paths_of(invocation, target)
    status = control.status(places)
    _print_status(options, places, status)
    try:
        # a daemon has read it already
        if not status.running and is_configured(invocation, places.root):
            open_config(invocation, places.root)
    except ConfigError as error:
        note(options, f"note: other commands will not work: {error.message}")
    return 0


def _print_running(
    options: Options, places: "HubPaths", status: "StatusResult", http: str | None
) -> None:
    _print_status(options, places, status)
    if http is not None and status.http is None:
        note(
            options,
            "note: the daemon was already running without HTTP: "
            f"run `remora hub stop`, then `remora hub start --http {http}`",
        )


def _print_status(options: Options, places: "HubPaths", status: "StatusResult") -> None:
    from remora.hub.process import control

    emit(options, _document(status), _status_lines(places, status))
    if status.running:
        note(options, *(f"note: {text}" for text in control.notes(places)))


def _document(status: "StatusResult") -> Any:
    import msgspec

    return msgspec.to_builtins(status)


def _status_lines(places: "HubPaths", status: "StatusResult") -> Iterator[str]:
    pid = f" (process {status.pid})" if status.pid is not None else ""
    head = f"the daemon is running{pid}" if status.running else "no daemon is running"
    yield click.style(head, fg="green" if status.running else None, bold=True)
    yield escape_line(f"root        {status.root}")
    yield escape_line(f"database    {status.db}")
    if status.running:
        yield escape_line(f"socket      {status.socket}")
        yield f"watcher     {_WATCHERS[status.watcher]}"
        yield f"last sweep  {status.last_sweep or 'none yet'}"
    if status.http is not None:
        yield escape_line(f"http        {status.http}")
        yield escape_line(f"token       {status.token_file}")
    if status.generation is None:
        yield "contents    none yet"
    else:
        nodes, files = count(status.nodes or 0, "node"), count(status.files or 0, "file")
        yield f"contents    {nodes} in {files}"
        yield from wrapped(f"links       {_link_progress(places, status)}", " " * 12)
        yield f"generation  {status.generation}"


def _link_progress(places: "HubPaths", status: "StatusResult") -> str:
    from remora.hub.link_progress import read_link_count  # imports the database code

    links = read_link_count(places)
    if links is None:
        return "unknown"
    if links.complete:
        return "stored for all nodes"
    far = f"stored for {links.found:,} of {count(links.nodes, 'node')}"
    if links.found == links.nodes:
        far = "stored for all nodes, but some files have changed"
    finds = "the daemon" if status.running else "`remora hub start`"
    return f"{far}; {finds} will compute the rest"


_WATCHERS = {
    "inotify": "inotify: the kernel reports every change",
    "sweep": "none: all files are checked on each request",
    "off": "off",
}
