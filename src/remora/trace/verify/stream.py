"""One pass over one stream with every check."""

from pathlib import Path

import msgspec

from remora.errors import DiskError, NotFound
from remora.memory.events import AgentEnd, Head
from remora.trace.folder import stream_id
from remora.trace.lines import Line, lines
from remora.trace.lock import is_locked
from remora.trace.reader import opened
from remora.trace.recover import is_torn
from remora.trace.source import Source
from remora.trace.verify.anchors import AgentEnding, RunAnchors, check_anchors
from remora.trace.verify.chain import ChainCheck
from remora.trace.verify.projection import ProjectionCheck
from remora.trace.verify.references import ReferenceCheck, Stores
from remora.trace.verify.report import Problems, StreamReport
from remora.trace.verify.schema import SchemaCheck


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A stream to verify, and what it is verified against.

    `anchors` receives what a run's stream says; of an agent's stream `run` is its run's, None
    where that is missing, and `anchored` whether to compare with it at all.
    """

    path: Path
    of_run: bool = False
    stores: Stores | None = None
    anchors: RunAnchors | None = None
    run: RunAnchors | None = None
    anchored: bool = False


def verify_stream(target: Target) -> StreamReport:
    """Everything that is wrong with one stream. Never raises, whatever the file holds."""
    name = stream_id(target.path)
    found = Problems()
    try:
        with opened(target.path) as source:
            reading = _Pass(target, name, source, found)
            reading.run()
            head, anchored = reading.head, reading.anchored()
    except (DiskError, NotFound, OSError) as error:
        found.add(1, "schema", f"cannot be read: {error}")
        head, anchored = Head(), None if target.of_run else False
    return StreamReport(
        name=_printable(name),
        of_run=target.of_run,
        head=head,
        anchored=anchored,
        problems=found.all(),
    )


class _Pass:
    """The checks of one stream, each seeing each line once."""

    def __init__(self, target: Target, name: str, source: Source, found: Problems) -> None:
        blobs = target.stores.blobs if target.stores else None
        self._target = target
        self._name = name
        self._source = source
        self._found = found
        self._chain = ChainCheck(found)
        self._schema = SchemaCheck(name, of_run=target.of_run, blobs=blobs, found=found)
        self._projection = ProjectionCheck(found)
        self._references = ReferenceCheck(target.stores, found)
        anchors = target.run.anchors.get(name, []) if target.run else []
        self._wanted = {anchor.head.count for anchor in anchors}
        self._hashes: dict[int, str] = {}
        self._end_line: int | None = None

    @property
    def head(self) -> Head:
        return self._chain.head

    def run(self) -> None:
        previous: Line | None = None
        for line in lines(self._source):
            if previous is not None:
                self._see(previous)
            previous = line
        if previous is not None:
            self._see_last(previous)
        if self._target.anchors is not None:
            self._target.anchors.live = is_locked(self._target.path)

    def anchored(self) -> bool | None:
        if self._target.of_run:
            return None
        if not self._target.anchored:
            return False
        ending = AgentEnding(head=self.head, hashes=self._hashes, end_line=self._end_line)
        agrees = check_anchors(self._name, ending, self._target.run, self._found)
        return agrees and self._chain.sound

    def _see_last(self, line: Line) -> None:
        if not is_torn(line):
            self._see(line)
        elif line.ended or not self._still_written(line):
            detail = f"{line.size} bytes at the end are no whole line; nothing acknowledged is lost"
            self._found.add(line.number, "torn_tail", detail)

    def _still_written(self, line: Line) -> bool:
        size = self._source.size()
        return is_locked(self._target.path) or size != line.offset + line.size

    def _see(self, line: Line) -> None:
        event = self._chain.see(line)
        if line.number in self._wanted:
            self._hashes[line.number] = self._chain.head.hash
        if event is None or not self._chain.trusted:
            self._schema.skip(line.number, event)
            return
        payload = self._schema.see(line.number, event)
        if isinstance(payload, AgentEnd):
            self._end_line = line.number
        if self._target.anchors is not None:
            self._target.anchors.see(line.number, payload)
        self._references.see(line.number, event, payload)
        # behind a damaged line the fold would only repeat that it is damaged
        if self._chain.sound and not self._target.of_run:
            self._projection.see(line.number, event, payload)


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
