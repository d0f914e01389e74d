"""Parent attempts of forks, and the events of these attempts."""

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from remora.errors import RemoraError
from remora.memory.events import AgentStart, Event
from remora.runs.records.agent_stream import start_in
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.fork_origin_check import Parent


def ancestors(
    folder: TraceFolder, start: AgentStart, seen: frozenset[str] = frozenset()
) -> Iterator[Event]:
    """Yield the events that precede a fork, oldest first. Unreadable events are skipped.

    `recall` and the stop rules need these events. The packet and the files are in the fork's own
    stream. Agents in `seen` are skipped to prevent an endless loop if there is a cycle.
    """
    parent = parent_of(start)
    if parent is None or parent.agent_id in seen:
        return
    with suppress(RemoraError):  # it may have expired
        for event in read_events(folder.existing_agent(parent.agent_id)):
            if event.type == AgentStart.type:
                with suppress(RemoraError):
                    before = start_in(event)
                    if before is not None:
                        yield from ancestors(folder, before, seen | {parent.agent_id})
            if event.seq > parent.seq:
                return
            yield event


def parent_of(start: AgentStart) -> Parent | None:
    try:
        return None if start.parent is None else msgspec.convert(start.parent, Parent)
    except msgspec.ValidationError:
        return None
