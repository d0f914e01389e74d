"""Formats of `trace export`. A new one is a module with the function, and an entry here."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from remora.errors import StreamDamaged

if TYPE_CHECKING:  # the help of the command lists the formats
    from remora.exports.run_group import ExportCounts, Groups, RunGroup
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
    "otel": ExportFormat(function="otel.agent_spans:export_spans", record="span", has_content=True),
    "sft": ExportFormat(function="training.sft_rows:export_sft"),
    "functiongemma": ExportFormat(function="training.sft_rows:export_functiongemma"),
}


def export_chunks(
    folder: "TraceFolder",
    groups: "Callable[[], Iterable[RunGroup | StreamDamaged]]",
    form: str,
    tally: "ExportCounts",
    *,
    content: bool = False,
) -> Iterator[bytes]:
    """Yield the bytes of the exported file, in the format with the name `form`.

    `groups` returns the runs to export, in which a damaged run is represented by its error. With
    `content`, the content of formats that have it on request is included.

    Memory use is bounded by the size of one agent's stream. When exporting a run or all streams,
    unreadable agents are skipped and counted in `tally`. When exporting a single agent,
    StreamDamaged or NotFound is raised. A stream with an invalid hash is not exported at all.
    """

    def readable() -> "Iterator[RunGroup]":
        for group in groups():
            if isinstance(group, StreamDamaged):
                tally.damage(group)
            else:
                yield group

    module, _, name = FORMATS[form].function.partition(":")
    export: Callable[[TraceFolder, Groups, ExportCounts, bool], Iterator[bytes]]
    export = getattr(import_module(f"remora.exports.{module}"), name)
    return export(folder, readable, tally, content)
