"""Inventory of runs, including their streams, ages and referenced contents."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from remora.errors import RemoraError
from remora.memory.events import Head, JobEnd, JobStart
from remora.runs.records.run_listing import list_run_lines_from_streams
from remora.runs.records.stored_run_lines import RunLine
from remora.runs.retention.retention_rules import RunFacts, StreamFacts
from remora.statuses import DAMAGED, INTERRUPTED, RUNNING
from remora.trace.read.reader import StreamInfo, list_streams, read_events, typed_payload
from remora.trace.retention.expired_log import ExpiredStream, read_expired
from remora.trace.retention.stream_removal import quarantine_files
from remora.trace.retention.unused_contents import (
    StoredContent,
    referenced_contents,
    stored_contents,
)
from remora.trace.trace_folder import TraceFolder, is_compressed, stream_id

DAMAGE = "it is damaged; see `remora trace verify`"
_LOST = "the stream of its run is missing"
_NO_RUN = "its stream does not begin with run_start"
_FIRST = datetime.min.replace(tzinfo=UTC)


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
    lines = {line.run_id: line for line in list_run_lines_from_streams(folder)}
    expired = tuple(read_expired(folder))
    logged = {entry.id for entry in expired}
    agents: dict[str, list[StreamInfo]] = {}
    for info in list_streams(folder):
        agents.setdefault(info.run_id, []).append(info)
    runs = []
    for path in folder.run_streams():
        run_id = stream_id(path)
        infos = agents.pop(run_id, [])
        runs.append(_run(folder, path, infos, lines.get(run_id), known=known, logged=logged))
    for run_id, infos in agents.items():
        streams = tuple(_agent(folder, info) for info in infos)
        runs.append(
            RunFacts(
                run_id=run_id,
                first=None,
                last=None,
                hands_off=_LOST,
                streams=streams,
                names=_names(streams, known),
            )
        )
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
    line: RunLine | None,
    *,
    known: Collection[str],
    logged: Collection[str],
) -> RunFacts:
    run_id = stream_id(path)
    streams = (*(_agent(folder, info) for info in infos), _stream("run", run_id, path))
    try:
        history = history_of(path)
        reason = _running_reason(line, infos) or _unfinished_reason(line, history)
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


def _running_reason(line: RunLine | None, infos: Iterable[StreamInfo]) -> str:
    statuses = {info.status for info in infos}
    if line is None:
        return _NO_RUN
    if DAMAGED in {line.status, *statuses}:
        return DAMAGE
    if RUNNING in {line.status, *statuses}:
        return "it is still running"
    return ""


def _unfinished_reason(line: RunLine | None, history: History) -> str:
    if line is None or history.last is None:
        return DAMAGE
    if line.status == INTERRUPTED or history.started - history.heads.keys():
        return f"it was interrupted; resume it with `remora analyze --resume {line.run_id}`"
    waiting = line.pending + line.conflicts
    if waiting:
        sets = "change" if waiting == 1 else "changes"
        return f"{waiting} {sets} pending review; see `remora show {line.run_id}`"
    return ""


def _agent(folder: TraceFolder, info: StreamInfo) -> StreamFacts:
    return _stream("agent", info.agent_id, folder.existing_agent(info.agent_id))


def _stream(kind: Literal["agent", "run"], name: str, path: Path) -> StreamFacts:
    return StreamFacts(
        kind=kind,
        id=name,
        path=path,
        bytes=path.lstat().st_size,
        sealed=is_compressed(path),
        torn_bytes=sum(place.lstat().st_size for place in quarantine_files(path)),
    )


def _names(streams: Iterable[StreamFacts], known: Collection[str]) -> frozenset[str] | None:
    try:
        return frozenset[str]().union(
            *(referenced_contents(stream.path, known) for stream in streams)
        )
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
