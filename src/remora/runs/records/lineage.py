"""Lineage of forks: the events of their parents' streams."""

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from remora.errors import RemoraError
from remora.memory.events import AgentStart, Event
from remora.runs.records.agent_stream import start_of
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder


class Parent(msgspec.Struct, frozen=True):
    """Last line of the parent's stream that a fork continues."""

    run_id: str
    agent_id: str
    seq: int
    hash: str


def ancestors(folder: TraceFolder, start: AgentStart) -> Iterator[Event]:
    """Yield the events before a fork, oldest first, as far as the streams still exist.

    `recall` and the stop rules need them: packet and files are in the fork's own stream.
    """
    seen: set[str] = set()
    lines: list[Parent] = []
    while (parent := parent_of(start)) is not None and parent.agent_id not in seen:
        seen.add(parent.agent_id)
        lines.append(parent)
        found = None
        with suppress(RemoraError):  # it may have expired
            found = start_of(folder, parent.agent_id)
        if found is None:
            break
        start = found
    for line in reversed(lines):
        with suppress(RemoraError):
            for event in read_events(folder.existing_agent(line.agent_id)):
                if event.seq <= line.seq:
                    yield event


def parent_of(start: AgentStart) -> Parent | None:
    try:
        return None if start.parent is None else msgspec.convert(start.parent, Parent)
    except msgspec.ValidationError:
        return None
