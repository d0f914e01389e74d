"""Check of the parent's line and the initial files of a fork or retry."""

from collections.abc import Iterator

import msgspec

from remora.errors import DiskError, NotFound
from remora.ids import is_id
from remora.memory.events import AgentStart, Change, Event
from remora.trace.content.line_format import iter_lines, stated_hash
from remora.trace.read.reader import open_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.content_check import ContentStores, changed_contents
from remora.trace.verify.verify_report import Problems


class Parent(msgspec.Struct, frozen=True):
    """The last line of the parent's stream before a fork or retry started."""

    run_id: str
    agent_id: str
    seq: int
    hash: str


class _Content(msgspec.Struct, frozen=True):
    sha256: str
    mode: int


class _Origin(msgspec.Struct, frozen=True):
    parent: Parent | None = None
    rebased: dict[str, _Content | None] = {}
    changes: tuple[Change, ...] = ()


_ORIGIN = msgspec.json.Decoder(_Origin)


class ParentStreams:
    """Looks up individual lines in the streams of parents."""

    def __init__(self, folder: TraceFolder) -> None:
        self._folder = folder

    def problem(self, parent: Parent) -> str | None:
        """Return a description of how the parent's stream contradicts `parent`, or None if it does
        not.

        A missing stream is not a problem, because it may have expired.
        """
        if parent.seq < 0:
            return None
        try:
            found = self._hash(parent)
        except (NotFound, DiskError):
            return None
        where = f"line {parent.seq + 1} of its parent {parent.agent_id}"
        if found is None:
            return f"{where} is missing; the stream ends before it"
        return (
            None
            if found == parent.hash
            else f"{where} does not match the line that this stream continues from"
        )

    def _hash(self, parent: Parent) -> str | None:
        with open_stream(self._folder.existing_agent(parent.agent_id)) as source:
            for line in iter_lines(source):
                if line.number == parent.seq + 1 and line.ended:
                    return stated_hash(line.raw) or ""
        return None


class OriginCheck:
    """Compares `agent_start` events with the parent's stream and the stored objects."""

    def __init__(self, stores: ContentStores, parents: ParentStreams, found: Problems) -> None:
        self._stores = stores
        self._parents = parents
        self._found = found

    def see(self, line: int, event: Event) -> None:
        if event.type != AgentStart.type:
            return
        try:
            origin = _ORIGIN.decode(event.data)
        except (ValueError, RecursionError) as error:
            self._found.add(line, "schema", f"invalid origin: {error}")
            return
        parent = origin.parent
        if parent is not None and not is_id(parent.agent_id):
            self._found.add(line, "schema", "the parent's agent_id is not an ID")
        elif parent is not None and (problem := self._parents.problem(parent)) is not None:
            self._found.add(line, "anchor", problem)
        problems = map(self._stores.object_problem, _digests(origin))
        for detail in dict.fromkeys(filter(None, problems)):
            self._found.add(line, "blob", detail)


def _digests(origin: _Origin) -> Iterator[str]:
    yield from (content.sha256 for content in origin.rebased.values() if content is not None)
    yield from changed_contents(origin.changes)
