"""Export to a file, an open stream, an OTLP receiver or Inspect logs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from remora.errors import StreamDamaged, UsageError
from remora.exports.export_counts import ExportCounts
from remora.exports.formats import ExportOptions, Groups, export_chunks, map_agents, span_requests
from remora.exports.inspect_logs.inspect_log import check_inspect, eval_log, log_name, write_log
from remora.exports.inspect_logs.inspect_sample import Json, inspect_sample
from remora.exports.otel.otlp_sender import send_spans
from remora.exports.output_file import replace_when_done, temporary_beside
from remora.exports.run_bundles import Attempt, RunBundle
from remora.exports.stream_summary import AgentSummary
from remora.trace.content.private_files import FOLDER_MODE, disk_errors
from remora.trace.trace_folder import TraceFolder


def export_to_file(
    folder: TraceFolder, groups: Groups, options: ExportOptions, path: Path
) -> ExportCounts:
    """Write an export to a file with mode 0600. The file is replaced when the export is complete.

    Raises DiskError if the file cannot be written, UsageError if the path is a folder, and whatever
    `export_chunks` raises.
    """
    with replace_when_done(path) as file:
        return export_to_stream(folder, groups, options, file)


def export_to_stream(
    folder: TraceFolder, groups: Groups, options: ExportOptions, file: BinaryIO
) -> ExportCounts:
    """Write an export to an open stream. Raises whatever `export_chunks` raises."""
    tally = ExportCounts()
    file.writelines(export_chunks(folder, groups, options, tally))
    return tally


def send_to_receiver(
    folder: TraceFolder,
    groups: Groups,
    options: ExportOptions,
    endpoint: str,
    headers: Mapping[str, str],
) -> ExportCounts:
    """Send spans to an OTLP/HTTP receiver.

    Raises whatever `send_spans` and `export_chunks` raise.
    """
    tally = ExportCounts()
    for _ in send_spans(span_requests(folder, groups, options, tally), endpoint, headers):
        pass
    return tally


def export_inspect_logs(
    folder: TraceFolder, groups: Groups, options: ExportOptions, path: Path, *, several: bool
) -> ExportCounts:
    """Write a single `.eval` file or, if `several` is True, a folder with one file per run.

    Only one run is held in memory at a time. Raises UsageError if inspect-ai is missing or the file
    name has the wrong suffix, and whatever `export_chunks` raises.
    """
    check_inspect()
    if not several and path.suffix != ".eval":
        raise UsageError(
            f"{path.name} does not end in .eval", hint="use a file name that ends in .eval"
        )
    if several:
        with disk_errors(path):
            path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    tally = ExportCounts()
    for group in groups():
        if isinstance(group, RunBundle):
            try:
                _write(folder, group, options, path / log_name(group) if several else path, tally)
            except StreamDamaged as error:
                if not several:
                    raise
                tally.damage(error)
        else:
            tally.damage(group)
    return tally


def _write(
    folder: TraceFolder, group: RunBundle, options: ExportOptions, path: Path, tally: ExportCounts
) -> None:
    def sample_of(survey: AgentSummary, attempt: Attempt) -> Iterator[tuple[AgentSummary, Json]]:
        yield survey, inspect_sample(folder, survey, attempt)

    pairs = list(map_agents(folder, group, tally, sample_of))
    surveys, samples = [one for one, _ in pairs], [one for _, one in pairs]
    with temporary_beside(path) as place:
        write_log(eval_log(group, surveys, samples, options.version), place)
    tally.records += len(samples)
