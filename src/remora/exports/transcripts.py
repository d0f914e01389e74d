"""Export of streams as text for people."""

from collections.abc import Iterable, Iterator

from remora.exports.escaped_events import escaped_events
from remora.exports.run_group import ExportCounts, Groups, RunGroup, map_agents
from remora.exports.stream_summary import AgentSummary
from remora.memory.events import Review
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder


def export_transcripts(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, _: bool
) -> Iterator[bytes]:
    """Yield the transcripts of each run and of its agents."""
    for group in groups():
        yield from _encoded(_transcripts(folder, group, tally))


def _transcripts(folder: TraceFolder, group: RunGroup, tally: ExportCounts) -> Iterator[str]:
    if group.whole and group.path is not None:
        yield from (f"==== run {group.run_id} ====", "")
        yield from transcript(escaped_events(read_events(group.path), folder.blobs))

    def lines_of(agent: AgentSummary, _: Review | None) -> Iterator[str]:
        if group.whole:
            yield from (f"==== agent {agent.agent_id} ====", "")
        events = read_events(folder.existing_agent(agent.agent_id))
        yield from transcript(escaped_events(events, folder.blobs), folder.blobs)
        tally.records += 1

    yield from map_agents(folder, group, tally, lines_of)


def _encoded(lines: Iterable[str]) -> Iterator[bytes]:
    for line in lines:
        yield line.encode() + b"\n"
