"""Formats of `trace export`, as a stream of bytes, and the file that they are written to."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import msgspec

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.exports.escaped_events import escaped_events
from remora.exports.otel.agent_spans import agent_spans, run_span, run_span_id
from remora.exports.otel.span import Span, otlp_attributes, span_json
from remora.exports.run_group import ExportCounts, RunGroup
from remora.exports.stream_summary import AgentSummary, summarize_stream
from remora.exports.training.sft_rows import Row, functiongemma_rows, sft_rows
from remora.memory.events import Review
from remora.regular_file import followed
from remora.trace.content.private_files import FILE_MODE, disk_errors
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import decode_part, read_events, read_lines
from remora.trace.trace_folder import TraceFolder

Format = Literal["html", "jsonl", "transcript", "otel", "sft", "functiongemma"]
Groups = Callable[[], Iterable[RunGroup | StreamDamaged]]
"""Returns an iterator over the runs to export. A damaged run is represented by its error."""
_Item = TypeVar("_Item")
_PLAIN = "functiongemma/"


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for an export. `content` applies to spans."""

    format: Format
    version: str
    content: bool = False


def export_chunks(
    folder: TraceFolder, groups: Groups, options: ExportOptions, tally: ExportCounts
) -> Iterator[bytes]:
    """Yield the bytes of the exported file.

    Memory use is bounded by the size of one agent's stream. When exporting a run or all streams,
    unreadable agents are skipped and counted in `tally`. When exporting a single agent,
    StreamDamaged or NotFound is raised. A stream with an invalid hash is not exported at all.
    """
    if options.format == "sft":
        tally.plain = _all_plain(folder, groups)
    for group in _undamaged(groups, tally):
        match options.format:
            case "jsonl":
                yield from _recorded_lines(folder, group, tally)
            case "transcript":
                yield from _transcripts(folder, group, tally)
            case "otel":
                spans = group_spans(folder, group, options, tally)
                yield from map(_line, request_documents(spans, options.version))
            case _:
                for row in _rows(folder, group, options.format, tally):
                    tally.records += 1
                    yield _line(row)


def group_spans(
    folder: TraceFolder, group: RunGroup, options: ExportOptions, tally: ExportCounts
) -> Iterator[Span]:
    """Yield the spans of each agent, then the run's span if the run was requested."""
    has_run = group.whole and group.path is not None
    spans_of = partial(
        agent_spans,
        folder,
        content=options.content,
        parent=run_span_id(group.run_id) if has_run else "",
    )
    ended = group.began
    for span in map_agents(folder, group, tally, spans_of):
        tally.records += 1
        ended = max(ended, span.ended)
        yield span
    if has_run:
        tally.records += 1
        yield run_span(group, ended)


def map_agents(
    folder: TraceFolder,
    group: RunGroup,
    tally: ExportCounts,
    convert: Callable[[AgentSummary, Review | None], Iterable[_Item]],
) -> Iterator[_Item]:
    """Yield the results of `convert` for each agent of a group, in order."""
    for agent_id in group.agents:
        try:
            path = folder.existing_agent(agent_id)
            if next(read_events(path), None) is None:
                tally.leave_out("with an empty stream")
                continue
            yield from convert(summarize_stream(path, folder.blobs), group.reviews.get(agent_id))
            tally.streams += 1
        except (StreamDamaged, NotFound) as error:
            if not group.whole:
                raise
            tally.damage(error)


def _undamaged(groups: Groups, tally: ExportCounts) -> Iterator[RunGroup]:
    for group in groups():
        if isinstance(group, StreamDamaged):
            tally.damage(group)
        else:
            yield group


def _recorded_lines(folder: TraceFolder, group: RunGroup, tally: ExportCounts) -> Iterator[bytes]:
    """Yield the lines of the run and of its agents exactly as they were recorded."""
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


def _rows(folder: TraceFolder, group: RunGroup, form: Format, tally: ExportCounts) -> Iterator[Row]:
    make = sft_rows if form == "sft" else functiongemma_rows

    def rows_of(survey: AgentSummary, review: Review | None) -> Iterator[Row]:
        counts = tally.operations
        for row in make(folder, survey, review, tally):
            counts[survey.operation] = counts.get(survey.operation, 0) + 1
            yield row

    yield from map_agents(folder, group, tally, rows_of)


def _transcripts(folder: TraceFolder, group: RunGroup, tally: ExportCounts) -> Iterator[bytes]:
    if group.whole and group.path is not None:
        yield from _lines((f"==== run {group.run_id} ====", ""))
        yield from _lines(transcript(escaped_events(read_events(group.path), folder.blobs)))

    def lines_of(survey: AgentSummary, _: Review | None) -> Iterator[bytes]:
        if group.whole:
            yield from _lines((f"==== agent {survey.agent_id} ====", ""))
        events = read_events(folder.existing_agent(survey.agent_id))
        escaped = escaped_events(events, folder.blobs)
        yield from _lines(transcript(escaped, folder.blobs))
        tally.records += 1

    yield from map_agents(folder, group, tally, lines_of)


def _lines(lines: Iterable[str]) -> Iterator[bytes]:
    for line in lines:
        yield line.encode() + b"\n"


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


class _Start(msgspec.Struct):
    renderer: str = ""


def _all_plain(folder: TraceFolder, groups: Groups) -> bool:
    """Return True if every agent used plain prompts.

    A file cannot mix plain prompts and conversations.
    """
    found = False
    for group in _undamaged(groups, ExportCounts()):
        for agent_id in group.agents:
            try:
                first = next(read_events(folder.existing_agent(agent_id)), None)
                plain = first is not None and decode_part(first, _Start).renderer.startswith(_PLAIN)
            except (StreamDamaged, NotFound):
                continue
            if not plain:
                return False
            found = True
    return found


_MOST = 512
_LARGEST = 2**21
"""Maximum number of spans in a request, and of characters in their strings.

Receivers limit the size of a request. A single span is sent whatever its size.
"""


def request_documents(spans: Iterable[Span], version: str) -> Iterator[dict[str, Any]]:
    """Yield each `ExportTraceServiceRequest` as JSON.

    A request contains at most 512 spans.
    """
    for batch in _batches(spans):
        resource = {"service.name": "remora", "service.version": version}
        scope = {"name": "remora.trace", "version": version}
        yield {
            "resourceSpans": [
                {
                    "resource": {"attributes": otlp_attributes(resource)},
                    "scopeSpans": [{"scope": scope, "spans": batch}],
                }
            ]
        }


def _batches(spans: Iterable[Span]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for span in spans:
        more = sum(len(value) for value in span.attributes.values() if isinstance(value, str))
        if batch and (len(batch) == _MOST or size + more > _LARGEST):
            yield batch
            batch, size = [], 0
        batch.append(span_json(span))
        size += more
    if batch:
        yield batch


@contextmanager
def replace_when_done(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` on success and is removed on failure.

    Links are followed. Pipes and devices are written directly. Raises DiskError if the file cannot
    be written, and UsageError if `path` is a folder.
    """
    with disk_errors(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("wb") as file:
                yield file
            return
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="choose a file")
    with disk_errors(path):
        target = followed(path)
    temporary = target.with_name(f".{target.stem[:32]}-{secrets.token_hex(4)}{target.suffix}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with disk_errors(path):
            with open(os.open(temporary, flags, FILE_MODE), "wb") as file:  # noqa: PTH123 (descriptor)
                yield file
                os.fchmod(file.fileno(), FILE_MODE)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()
