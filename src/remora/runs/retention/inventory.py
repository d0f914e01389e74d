"""Inventory of runs, including their streams, ages and referenced contents."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from remora.errors import RemoraError
from remora.memory.events import Head, JobEnd, JobStart
from remora.runs.records.run_listing import read_run_line
from remora.statuses import DAMAGED, INTERRUPTED, RUNNING
from remora.trace.read.reader import StreamInfo, list_streams, read_events, typed_payload
from remora.trace.retention.expired_log import ExpiredStream, read_expired
from remora.trace.retention.removal import (
    StoredContent,
    referenced_contents,
    stored_contents,
)
from remora.trace.trace_folder import TraceFolder, stream_id

DAMAGE = "it is damaged; see `remora trace verify`"
_LOST = "the stream of its run is missing"
_FIRST = datetime.min.replace(tzinfo=UTC)


class StreamFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a stream, and its size."""

    kind: Literal["agent", "run"]
    id: str
    path: Path
    bytes: int


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a run, as used by the rules.

    The last item of `streams` is the run's stream. `first` and `last` are the times of its first
    and last event, or None if unknown. `hands_off` is the reason for keeping the run unchanged, or
    an empty string. `begun` is True if part of the run has already been removed. `names` contains
    the hashes of the contents that its streams reference, or is None if a stream cannot be read.
    """

    run_id: str
    first: datetime | None = None
    last: datetime | None = None
    hands_off: str = ""
    begun: bool = False
    streams: tuple[StreamFacts, ...]
    names: frozenset[str] | None

    @property
    def bytes(self) -> int:
        return sum(stream.bytes for stream in self.streams)


class Inventory(msgspec.Struct, frozen=True):
    """All runs, with the oldest run first, and all contents.

    `freed` contains the hashes of contents that expired runs referenced and that have not been
    stored again since.
    """

    runs: tuple[RunFacts, ...] = ()
    contents: tuple[StoredContent, ...] = ()
    freed: frozenset[str] = frozenset()


class History(msgspec.Struct):
    """The agents that were started, according to a run's stream.

    `heads` contains the stream heads of agents that ended and were not resumed. `first` and `last`
    are the times of the first and last event in the stream.
    """

    first: datetime | None = None
    last: datetime | None = None
    started: set[str] = msgspec.field(default_factory=set)
    heads: dict[str, Head] = msgspec.field(default_factory=dict)


def take_inventory(folder: TraceFolder) -> Inventory:
    """Read all streams and contents without locking them.

    Raises DiskError if they cannot be read, and StreamDamaged if the record of expired runs is
    damaged.
    """
    contents = tuple(stored_contents(folder))  # first: contents stored from now on are too young
    known = frozenset(content.digest for content in contents)
    expired = tuple(read_expired(folder))
    logged = {entry.id for entry in expired}
    agents: dict[str, list[StreamInfo]] = {}
    for info in list_streams(folder):
        agents.setdefault(info.run_id, []).append(info)
    runs = []
    for path in folder.run_streams():
        infos = agents.pop(stream_id(path), [])
        runs.append(_run(folder, path, infos, known=known, logged=logged))
    for run_id, infos in agents.items():
        streams = _agents(folder, infos)
        names = _names(streams, known)
        runs.append(RunFacts(run_id=run_id, hands_off=_LOST, streams=streams, names=names))
    runs.sort(key=lambda run: (run.last or _FIRST, run.run_id))
    return Inventory(tuple(runs), contents, _freed(expired, contents))


def history_of(path: Path) -> History:
    """Read a history from a run's stream.

    Raises NotFound if the stream is missing, StreamDamaged if it is damaged, and DiskError if it
    cannot be read.
    """
    found, stamp = History(), ""
    for event in read_events(path):
        stamp = event.timestamp
        found.first = found.first or _time(stamp)
        data = typed_payload(event) if event.type in (JobStart.type, JobEnd.type) else None
        if isinstance(data, JobStart):
            found.started.add(data.agent_id)
            found.heads.pop(data.agent_id, None)
        elif isinstance(data, JobEnd):
            found.heads[data.agent_id] = data.head
    found.last = _time(stamp)
    return found


def _run(
    folder: TraceFolder,
    path: Path,
    infos: list[StreamInfo],
    *,
    known: Collection[str],
    logged: Collection[str],
) -> RunFacts:
    run_id = stream_id(path)
    streams = (*_agents(folder, infos), _stream("run", run_id, path))
    try:
        history = history_of(path)
        reason = DAMAGE if folder.copy_problem(path) else _reason(path, infos, history)
    except RemoraError:
        history, reason = History(), DAMAGE
    missing = history.started - {info.agent_id for info in infos}
    if not reason and not missing <= set(logged):
        reason = DAMAGE
    return RunFacts(
        run_id=run_id,
        first=history.first,
        last=history.last,
        hands_off=reason,
        begun=bool(missing),
        streams=streams,
        names=_names(streams, known),
    )


def _reason(path: Path, infos: Iterable[StreamInfo], history: History) -> str:
    """Return why a run must be kept, or an empty string."""
    read = read_run_line(path)
    if read is None:
        return "its stream does not begin with run_start"
    line, statuses = read[0], {read[0].status, *(info.status for info in infos)}
    if DAMAGED in statuses or history.last is None:
        return DAMAGE
    if RUNNING in statuses:
        return "it is still running"
    if line.status == INTERRUPTED or history.started - history.heads.keys():
        return f"it was interrupted; resume it with `remora analyze --resume {line.run_id}`"
    waiting = line.pending + line.conflicts
    if waiting:
        sets = "change" if waiting == 1 else "changes"
        return f"{waiting} {sets} pending review; see `remora show {line.run_id}`"
    return ""


def _agents(folder: TraceFolder, infos: Iterable[StreamInfo]) -> tuple[StreamFacts, ...]:
    paths = ((info.agent_id, folder.existing_agent(info.agent_id)) for info in infos)
    return tuple(_stream("agent", name, path) for name, path in paths)


def _stream(kind: Literal["agent", "run"], name: str, path: Path) -> StreamFacts:
    return StreamFacts(kind=kind, id=name, path=path, bytes=path.lstat().st_size)


def _names(streams: Iterable[StreamFacts], known: Collection[str]) -> frozenset[str] | None:
    try:
        found = (referenced_contents(stream.path, known) for stream in streams)
        return frozenset[str]().union(*found)
    except RemoraError:
        return None


def _freed(expired: Iterable[ExpiredStream], contents: Iterable[StoredContent]) -> frozenset[str]:
    """Return the hashes of contents that expired runs referenced and that were not stored again."""
    put = {content.digest: content.put for content in contents}
    found: set[str] = set()
    for entry in expired:
        when = _time(entry.timestamp)
        if when is not None:
            moment = when.timestamp()
            found.update(name for name in entry.contents if put.get(name, moment) < moment)
    return frozenset(found)


def _time(stamp: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else None
