"""The copy of a stream in a share file: all its bytes, compressed, and what a check found in them."""

import gzip
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec

from remora.errors import UsageError
from remora.memory.events import AgentEnd, Event
from remora.trace.content.byte_source import PieceSource, read_pieces
from remora.trace.content.line_format import Line, iter_lines, stated_hash
from remora.trace.read.reader import is_being_written, open_stream
from remora.trace.read.turn_positions import turn_of
from remora.trace.redact.redactor import Redactor
from remora.trace.trace_folder import stream_id
from remora.trace.verify.anchor_check import RunAnchors, check_anchors
from remora.trace.verify.chain_check import ChainCheck
from remora.trace.verify.verify_report import Problems, StreamReport

MOST_BYTES = 64_000_000
"""Bytes of a stream that a share file can have. A browser holds them in memory."""


class StreamCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a stream for a share file."""

    name: str
    packed: str
    """The bytes of the lines, compressed by gzip and written in base64."""
    size: int
    """The number of bytes of the stream."""
    withheld: tuple[int, ...]
    """Numbers of lines that are replaced by their size and hash, because they contain a secret."""
    anchor: int | None
    """The line of the run's stream that has the head, if one does."""
    report: StreamReport


def copy_stream(
    path: Path, redact: Redactor, run: RunAnchors | None, *, of_run: bool
) -> StreamCopy:
    """Return the copy of a stream, with its lines checked against their hashes and its anchors.

    Raises UsageError if the stream is too large, and DiskError or StreamDamaged if it cannot be
    read.
    """
    is_written = is_being_written(path)
    with open_stream(path) as source:
        if source.size() > MOST_BYTES:
            raise UsageError(
                f"{stream_id(path)} has {source.size():,} bytes, and a share file takes streams "
                f"of up to {MOST_BYTES:,}",
                hint="use `remora trace export --format jsonl` or `transcript`",
            )
        data = b"".join(read_pieces(source, end=source.size()))
    check = _Check(data, is_written=is_written)
    packed = BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.writelines(check.shared_lines(redact))
    report = check.report(stream_id(path), run, of_run=of_run)
    anchors = run.anchors.get(report.name, []) if run is not None and report.anchored else []
    ends = [anchor.line for anchor in anchors if anchor.ends_job]
    return StreamCopy(
        name=report.name,
        packed=b64encode(packed.getvalue()).decode(),
        size=len(data),
        withheld=tuple(check.withheld),
        anchor=ends[-1] if ends else None,
        report=report,
    )


class _Check:
    """Checks the lines of a stream while they are copied."""

    def __init__(self, data: bytes, *, is_written: bool) -> None:
        self.withheld: list[int] = []
        self._data = data
        self._is_written = is_written
        self._problems = Problems()
        self._chain = ChainCheck(self._problems)
        self._hashes: dict[int, str] = {}
        self._end_line: int | None = None

    def shared_lines(self, redact: Redactor) -> Iterator[bytes]:
        """Yield the lines, each with its newline. Lines with secrets are replaced."""
        turn = 0
        for line in iter_lines(PieceSource(iter([self._data]))):
            turn = turn_of(line.raw, turn)
            event = self._see(line)
            if _has_secret(line, event, redact):
                self.withheld.append(line.number)
                yield _stub(line, turn)
            else:
                yield self._data[line.offset : line.offset + line.size + line.ended]

    def report(self, name: str, run: RunAnchors | None, *, of_run: bool) -> StreamReport:
        """Return what was found, also in comparison with the heads in the run's stream."""
        head = self._chain.head
        anchored = None
        if not of_run:
            anchored = check_anchors(name, run, head, self._hashes, self._end_line, self._problems)
        return StreamReport(
            name=name, of_run=of_run, head=head, anchored=anchored, problems=self._problems.all()
        )

    def _see(self, line: Line) -> Event | None:
        if not line.ended:
            if not self._is_written:
                detail = f"the last {line.size} bytes are not a complete line"
                self._problems.add(line.number, "torn_tail", detail)
            return None
        event = self._chain.see(line)
        self._hashes[line.number] = self._chain.hash
        if event is not None and event.type == AgentEnd.type:
            self._end_line = line.number
        return event


def _has_secret(line: Line, event: Event | None, redact: Redactor) -> bool:
    if event is None:
        return redact.data(line.raw) is not line.raw
    document = msgspec.json.decode(line.raw)
    return redact.clean(document) is not document


def _stub(line: Line, turn: int) -> bytes:
    """Return the replacement of a line with a secret. The next line is checked with its stated hash."""
    stub = {"turn": turn, "withheld": line.size, "hash": stated_hash(line.raw) or ""}
    return msgspec.json.encode(stub) + b"\n"
