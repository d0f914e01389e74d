"""Export of streams exactly as they were recorded."""

from collections.abc import Iterator
from pathlib import Path

from remora.errors import NotFound, StreamDamaged
from remora.exports.run_group import ExportCounts, Groups
from remora.trace.read.reader import read_lines
from remora.trace.trace_folder import TraceFolder


def export_lines(
    folder: TraceFolder, groups: Groups, tally: ExportCounts, _: bool
) -> Iterator[bytes]:
    """Yield the lines of each run and of its agents."""
    for group in groups():
        if group.whole and group.path is not None:
            yield from _lines_of(group.path, tally)
        for agent_id in group.agents:
            try:
                yield from _lines_of(folder.existing_agent(agent_id), tally)
            except (StreamDamaged, NotFound) as error:
                if not group.whole:
                    raise
                tally.damage(error)


def _lines_of(path: Path, tally: ExportCounts) -> Iterator[bytes]:
    tally.streams += 1
    for line in read_lines(path):
        tally.records += 1
        yield line + b"\n"
