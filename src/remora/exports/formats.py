"""Formats of `trace export`. A new one is a module with the function, and an entry here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the help of the command lists the formats
    from remora.exports.run_group import ExportCounts, Groups
    from remora.trace.trace_folder import TraceFolder


@dataclass(frozen=True, kw_only=True)
class ExportFormat:
    """A format of exports."""

    function: str
    """The `MODULE:FUNCTION` of `remora.exports` that yields the bytes of a file."""
    record: str = "row"
    """The noun for what the file contains."""
    source: str = "agent"
    """The noun for what it comes from."""
    has_content: bool = False
    """True if prompts, answers, arguments and outputs are only in it if they are asked for."""


FORMATS: Mapping[str, ExportFormat] = {
    "jsonl": ExportFormat(function="recorded_lines:export_lines", record="event", source="stream"),
    "transcript": ExportFormat(function="transcripts:export_transcripts", record="transcript"),
    "otel": ExportFormat(function="otel.agent_spans:export_spans", record="span", has_content=True),
    "sft": ExportFormat(function="training.sft_rows:export_sft"),
    "functiongemma": ExportFormat(function="training.sft_rows:export_functiongemma"),
}


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options for an export."""

    format: str
    """A key of FORMATS."""
    version: str
    """The version of Remora."""
    content: bool = False
    """True to include the content of formats that have it on request."""


def export_chunks(
    folder: "TraceFolder", groups: "Groups", options: ExportOptions, tally: "ExportCounts"
) -> Iterator[bytes]:
    """Yield the bytes of the exported file.

    Memory use is bounded by the size of one agent's stream. When exporting a run or all streams,
    unreadable agents are skipped and counted in `tally`. When exporting a single agent,
    StreamDamaged or NotFound is raised. A stream with an invalid hash is not exported at all.
    """
    module, _, name = FORMATS[options.format].function.partition(":")
    export: Callable[[TraceFolder, Groups, ExportOptions, ExportCounts], Iterator[bytes]]
    export = getattr(import_module(f"remora.exports.{module}"), name)
    return export(folder, groups, options, tally)
