"""Check of the parent's line and the initial files of a fork or retry."""

from contextlib import suppress
from itertools import chain

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


def check_origin(line: int, event: Event, stores: ContentStores, found: Problems) -> None:
    """Compare an `agent_start` event with the parent's stream and the stored objects."""
    if event.type != AgentStart.type:
        return
    try:
        origin = _ORIGIN.decode(event.data)
    except (ValueError, RecursionError) as error:
        found.add(line, "schema", f"invalid origin: {error}")
        return
    parent = origin.parent
    if parent is not None and not is_id(parent.agent_id):
        found.add(line, "schema", "the parent's agent_id is not an ID")
    elif parent is not None and (problem := _parent_problem(stores.folder, parent)) is not None:
        found.add(line, "anchor", problem)
    rebased = (content.sha256 for content in origin.rebased.values() if content is not None)
    problems = map(stores.object_problem, chain(rebased, changed_contents(origin.changes)))
    for detail in dict.fromkeys(filter(None, problems)):
        found.add(line, "blob", detail)


def _parent_problem(folder: TraceFolder, parent: Parent) -> str | None:
    """Return a description of how the parent's stream contradicts `parent`, or None if it does
    not.

    A missing stream is not a problem, because it may have expired.
    """
    if parent.seq < 0:
        return None
    where = f"line {parent.seq + 1} of its parent {parent.agent_id}"
    with (
        suppress(NotFound, DiskError),
        open_stream(folder.existing_agent(parent.agent_id)) as source,
    ):
        for line in iter_lines(source):
            if line.number == parent.seq + 1 and line.ended:
                if (stated_hash(line.raw) or "") == parent.hash:
                    return None
                return f"{where} does not match the line that this stream continues from"
        return f"{where} is missing; the stream ends before it"
    return None
