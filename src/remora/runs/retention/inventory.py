"""Inventory of runs, including their streams, ages and referenced contents."""

from collections.abc import Collection, Iterable, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from remora.errors import RemoraError
from remora.memory.events import Head
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.run_listing import RunLine, read_run_line
from remora.statuses import DAMAGED, INTERRUPTED, RUNNING
from remora.text import count
from remora.trace.read.reader import StreamInfo, list_streams
from remora.trace.removal import StoredContent, read_expired, referenced_contents, stored_contents
from remora.trace.trace_folder import TraceFolder, compressed_path, plain_path, stream_id

DAMAGE = "it is damaged; see `remora trace verify`"
_FIRST = datetime.min.replace(tzinfo=UTC)


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a run, or about a damaged agent of an unknown run."""

    run_id: str
    first: datetime | None = None
    """The time of the first event, if it is known."""
    last: datetime | None = None
    """The time of the last event, if it is known."""
    hands_off: str = ""
    """The reason for keeping the run unchanged, or an empty string."""
    begun: bool = False
    """True if part of the run has already been removed."""
    streams: dict[Path, int]
    """The size of each stream in bytes, by path. The last one is the run's."""
    heads: dict[str, Head] = {}
    """The agents' heads in the run's stream."""
    names: frozenset[str] | None
    """The hashes of referenced contents, or None if a stream cannot be read."""

    @property
    def bytes(self) -> int:
        return sum(self.streams.values())


class Inventory(msgspec.Struct, frozen=True):
    """All runs and contents of a project."""

    runs: Sequence[RunFacts] = ()
    """The runs, the oldest first."""
    contents: Sequence[StoredContent] = ()
    freed: Collection[str] = ()
    """The hashes of contents that expired runs referenced and that were not stored again since."""


def take_inventory(folder: TraceFolder, now: datetime) -> Inventory:
    """Read all streams and contents without locking them.

    A time of expiry after `now` is ignored, because the clock was wrong. Raises DiskError if they
    cannot be read, and StreamDamaged if the log of expired streams is damaged.
    """
    contents = list(stored_contents(folder))  # first: contents stored from now on are too young
    put = {content.path.name: content.put for content in contents}
    logged, freed = set[str](), set[str]()
    for entry in read_expired(folder):
        logged.add(entry.id)
        when = _time(entry.timestamp)
        if when is not None and when <= now:
            moment = when.timestamp()
            freed.update(name for name in entry.contents if put.get(name, moment) < moment)
    agents: dict[str, list[StreamInfo]] = {}
    for info in list_streams(folder):
        if info.run_id or info.status == DAMAGED:
            agents.setdefault(info.run_id or info.agent_id, []).append(info)
    run_ids = {stream_id(path) for path in folder.run_streams()} | agents.keys()
    facts = (_facts(folder, run_id, agents.get(run_id, []), put, logged) for run_id in run_ids)
    runs = [run for run in facts if run.streams]  # others were removed a moment ago
    runs.sort(key=lambda run: (run.last or _FIRST, run.run_id))
    return Inventory(runs, contents, freed)


def _facts(
    folder: TraceFolder,
    run_id: str,
    agents: list[StreamInfo],
    known: Collection[str],
    logged: Set[str],
) -> RunFacts:
    own = folder.find_run(run_id)
    streams = _sizes(folder.find_agent(info.agent_id) for info in agents) | _sizes([own])
    read = read_run_line(own) if own is not None else None  # after the sizes
    facts = RunFacts(
        run_id=run_id,
        hands_off="it is damaged, or its run's stream is missing; see `remora trace verify`",
        streams=streams,
        names=_names(streams, known),
    )
    if own is None or read is None:
        return facts
    line, counting = read
    missing = counting.is_over.keys() - {info.agent_id for info in agents}
    last = _time(counting.last)
    if line.status == DAMAGED or last is None or folder.copy_problem(own):
        return replace(facts, hands_off=DAMAGE)
    return replace(
        facts,
        first=_time(line.started),
        last=last,
        hands_off=_reason(line, counting, agents) or ("" if missing <= logged else DAMAGE),
        begun=bool(missing) or (not agents and run_id in logged),
        heads={name: end.head for name, end in counting.ends.items() if counting.is_over[name]},
    )


def _reason(line: RunLine, counting: CurrentAttempts, agents: list[StreamInfo]) -> str:
    """Return why a run must be kept, or an empty string."""
    statuses = {line.status, *(info.status for info in agents)}
    if DAMAGED in statuses:
        return DAMAGE
    if RUNNING in statuses:
        return "it is still running"
    if line.status == INTERRUPTED or not all(counting.is_over.values()):
        return f"it was interrupted; resume it with `remora analyze --resume {line.run_id}`"
    if waiting := line.pending + line.conflicts:
        sets = count(waiting, "change")
        return f"{sets} pending review; see `remora show {line.run_id}`"
    return ""


def _sizes(paths: Iterable[Path | None]) -> dict[Path, int]:
    """Return the size of each stream's file, which may have been compressed or removed meanwhile."""
    sizes = dict[Path, int]()
    for path in filter(None, paths):
        for place in (path, compressed_path(path), plain_path(path)):
            with suppress(FileNotFoundError):
                sizes[place] = place.lstat().st_size
                break
    return sizes


def _names(paths: Iterable[Path], known: Collection[str]) -> frozenset[str] | None:
    try:
        return frozenset[str]().union(*(referenced_contents(path, known) for path in paths))
    except RemoraError:
        return None


def _time(stamp: str) -> datetime | None:
    with suppress(ValueError):
        found = datetime.fromisoformat(stamp)
        return found if found.tzinfo else None
    return None
