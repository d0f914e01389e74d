"""Compresses streams of old runs, and removes older runs and what only they referenced.

Each step is atomic, so an interrupted pass can be run again. Removals are first recorded in
`expired.jsonl`. A run's stream is removed after the streams of its agents.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial

import msgspec

from remora.errors import OutsideError, RemoraError, StreamDamaged, StreamError
from remora.runs.project import Project
from remora.runs.provenance import forget_head
from remora.runs.retention.inventory import (
    RunFacts,
    StreamFacts,
    history_of,
    take_inventory,
)
from remora.runs.retention.retention_rules import GRACE, Limits, unreferenced, what_is_due
from remora.trace.read.verified_reader import verified_head
from remora.trace.retention.expired_log import ExpiredStream, log_expired
from remora.trace.retention.removal import (
    StoredContent,
    compaction_lock,
    locked_stream,
    remove_contents,
    remove_stream,
    remove_unfinished_files,
)
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from remora.workspaces.commit_files import unpin_commit


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of removed runs and compressed streams, the freed bytes, and the problems."""

    runs: int = 0
    streams: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()


def compact(project: Project, limits: Limits, now: datetime, *, spared: str = "") -> Retained:
    """Remove and compress what is due, except the run with the ID `spared`.

    An error in one run is a problem in the result, and the other runs are still processed. Raises
    StreamLocked if another process does the same, StreamDamaged if the record of expired runs is
    damaged, and DiskError if a folder cannot be read or written.
    """
    folder = project.trace
    folder.check()
    if folder.is_copy or not folder.path.is_dir():  # a database has its own removal
        return Retained()
    problems: list[str] = []
    with compaction_lock(folder):
        found = take_inventory(folder)
        due = what_is_due(found, limits, now, spared)
        removals = ((run.run_id, partial(_remove_run, project, run, now)) for run in due.runs)
        removed = _attempts(removals, problems)
        compressions = ((stream.id, partial(_compress, stream)) for stream in due.streams)
        compressed = _attempts(compressions, problems)
        left = [run for run in found.runs if run.run_id not in removed]
        freed = found.freed.union(*(run.names or () for run in due.runs))
        unused = list(unreferenced(found.contents, left, freed, limits.backups, now))
        collected = _remove_contents(folder, unused, now)
        remove_unfinished_files(folder, (now - GRACE).timestamp())
    size = sum(removed.values()) + sum(compressed.values()) + collected
    return Retained(
        runs=len(removed), streams=len(compressed), bytes=size, problems=tuple(problems)
    )


def _attempts(acts: Iterable[tuple[str, Callable[[], int]]], problems: list[str]) -> dict[str, int]:
    """Carry out named acts, and return the bytes that each freed. Errors are added to `problems`."""
    done = {}
    for name, act in acts:
        try:
            done[name] = act()
        except RemoraError as error:
            problems.append(f"{name}: {error.message}")
    return done


def _compress(stream: StreamFacts) -> int:
    return stream.bytes - compress_stream(stream.path)


def _remove_contents(folder: TraceFolder, unused: list[StoredContent], now: datetime) -> int:
    """Remove contents that were not stored again after the inventory, and return their size."""
    before, size = (now - GRACE).timestamp(), 0
    for store, place in (("blobs", folder.blobs), ("objects", folder.objects)):
        sizes = {one.digest: one.bytes for one in unused if one.store == store}
        size += sum(sizes[digest] for digest in remove_contents(place, sizes, before))
    return size


def _remove_run(project: Project, run: RunFacts, now: datetime) -> int:
    """Record a run and its agents as expired, remove their streams, and return their size.

    The lock on the run's stream is also held by writers of the agents' streams.
    """
    entries = _expired_streams(run)
    *agents, own = run.streams
    with locked_stream(own.path) as size:
        if size != own.bytes:
            raise StreamError("its stream was modified a moment ago")
        log_expired(project.trace, entries, now)
        with suppress(OutsideError):  # without git or the ref, no commit is kept
            unpin_commit(project.root, run.run_id)
        forget_head(project.state, run.run_id)
        for stream in (*agents, own):
            remove_stream(stream.path)
    return run.bytes


def _expired_streams(run: RunFacts) -> list[ExpiredStream]:
    """Return the records of a run's streams.

    Raises StreamDamaged if a stream is damaged or differs from its run's record.
    """
    heads = history_of(run.streams[-1].path).heads
    found = []
    for stream in run.streams:
        head = verified_head(stream.path)
        if stream.kind == "agent" and heads.get(stream.id, head) != head:
            raise StreamDamaged(f"{stream.id} differs from its run's record")
        found.append(
            ExpiredStream(
                kind=stream.kind,
                id=stream.id,
                run_id=run.run_id,
                head=head,
                bytes=stream.bytes,
                reason="begun before" if run.begun else "age",
                contents=tuple(sorted(run.names or ())) if stream.kind == "run" else (),
            )
        )
    return found
