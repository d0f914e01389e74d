"""The `trace tail` command, which shows the end of a stream and new events."""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import fit_line, note
from remora.cli.app.project_context import trace_folder_of
from remora.errors import NotFound, StreamDamaged
from remora.ids import LAST, display_name
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.memory.events import Event
    from remora.trace.trace_folder import TraceFolder

_PAUSE_S = 0.2
_INTERRUPTED = 130
_ALL = 1 << 62
"""More lines than any stream has."""
Show = Callable[[Path, bytes, "Event"], object]


@command(
    "tail",
    examples=(
        "remora trace tail lint-3f2a -n 20",
        "remora trace tail -f",
        "remora trace tail last -f --json",
    ),
)
@click.argument("agent", default=LAST)
@click.option(
    "-n",
    "--lines",
    "number",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of events to show.",
)
@click.option("-f", "--follow", is_flag=True, help="Print new events until the writer exits.")
def tail(options: Options, agent: str, *, number: int, follow: bool) -> int:
    """Show the last events of an agent or a run (default: the newest run).

    With -f, also print new events until the writer exits. For a run, this includes the events of
    its running agents. Ctrl-C stops the command with exit code 130.
    """
    from remora.cli.trace.event_lines import event_json, json_document
    from remora.runs.records.name_lookup import stream_named
    from remora.statuses import proven_text
    from remora.trace.read.reader import stream_status

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    path = folder.existing_stream(name)
    watched = _TailedStreams(folder, path, number, follow=follow)
    try:
        if options.json:
            with json_document(name, "events") as write:
                watched.show(lambda _path, line, _event: write(event_json(line)))
        else:
            watched.show(_Printer(path))
    except KeyboardInterrupt:
        return _INTERRUPTED
    if follow:
        status = proven_text(stream_status(folder.existing_stream(name)), None)
        note(options, f"{name} is {status}; nothing is writing to it")
    return 0


class _TailedStreams:
    """A stream and, if a run is followed, the streams of its running agents."""

    def __init__(self, folder: "TraceFolder", own: Path, number: int, *, follow: bool) -> None:
        from remora.trace.read.follow import StreamFollower

        self._folder = folder
        self._own = StreamFollower(own, number)
        self._follow = follow
        at_work = _running_agents(own) if follow else ()
        self._agents = {name: StreamFollower(folder.agent_stream(name), number) for name in at_work}

    def show(self, shown: Show) -> None:
        """Pass each line to `shown`. If streams are followed, wait for new lines."""
        while True:
            continues = self._follow and self._own.is_written  # checked before the last read
            for follower in chain((self._own,), self._agents.values()):
                self._folder.refresh(follower.path)
                with suppress(NotFound):  # started, but nothing written yet
                    for line in follower.lines():
                        event = _decode_line(line, follower.path)
                        shown(follower.path, line, event)
                        self._follow_agent(event)
            if not continues:
                return
            time.sleep(_PAUSE_S)

    def _follow_agent(self, event: "Event") -> None:
        """If the event starts a job, follow the stream of its agent."""
        from remora.memory.events import JobStart
        from remora.trace.read.follow import StreamFollower
        from remora.trace.read.reader import typed_payload

        job = typed_payload(event) if self._follow and event.type == JobStart.type else None
        if isinstance(job, JobStart) and job.agent_id not in self._agents:
            path = self._folder.agent_stream(job.agent_id)
            self._agents[job.agent_id] = StreamFollower(path, _ALL)


class _Printer:
    """Prints events in columns, with a heading whenever the stream changes."""

    def __init__(self, own: Path) -> None:
        from remora.cli.trace.event_lines import Columns

        self._columns = Columns(own)
        self._last = own

    def __call__(self, path: Path, _: bytes, event: "Event") -> None:
        from remora.trace.trace_folder import stream_id

        if path != self._last:
            heading = escape_line(f"{stream_id(path)}  {display_name(event.node_id)}".rstrip())
            click.echo(click.style(fit_line(heading), fg="cyan"))
            self._last = path
        click.echo(self._columns.line(event))


def _running_agents(path: Path) -> list[str]:
    """Return the agents whose jobs have started but not ended."""
    from remora.memory.events import JobEnd, JobStart
    from remora.runs.records.current_attempt import CurrentAttempts
    from remora.trace.read.reader import read_events, typed_payload

    attempts = CurrentAttempts()
    for event in read_events(path):
        if event.type in (JobStart.type, JobEnd.type):
            attempts.add(typed_payload(event))
    return [agent for agent, is_over in attempts.is_over.items() if not is_over]


def _decode_line(line: bytes, path: Path) -> "Event":
    from remora.memory.events import decode_event

    try:
        return decode_event(line)
    except (ValueError, RecursionError) as error:
        raise StreamDamaged(
            f"{path.name}: contains a line that is not an event", hint="see `remora trace verify`"
        ) from error
