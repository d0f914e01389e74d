"""The `trace compact` command, which seals finished streams and removes old streams.

Each step is atomic, so an interrupted command can be run again. Removals are first recorded in
`expired.jsonl`. A run's stream is removed after the streams of its agents.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Protocol

import msgspec

from remora.errors import NotFound, OutsideError, StreamDamaged, StreamError
from remora.runs.project import Project
from remora.runs.provenance import forget_head
from remora.runs.retention.compact_report import Collected, Compaction, ExpiredRun, Kept, Sealed
from remora.runs.retention.inventory import DAMAGE, Inventory, history_of, take_inventory
from remora.runs.retention.retention_rules import (
    AGE,
    GRACE,
    PARTIAL,
    SIZE,
    Policy,
    RunFacts,
    StreamFacts,
    expiring_by_age,
    expiring_by_size,
    is_due,
    kept_past_due,
    to_seal,
    unreferenced,
)
from remora.trace.read.verified_reader import verified_head
from remora.trace.retention.expired_log import ExpiredStream, log_expired
from remora.trace.retention.stream_removal import (
    compaction_lock,
    locked_stream,
    remove_stream,
    remove_unfinished_files,
)
from remora.trace.retention.unused_contents import StoredContent, remove_contents
from remora.trace.stream.compression import compress_stream, compressed_size
from remora.trace.trace_folder import compressed_path
from remora.workspaces.commit_files import unpin_commit

_ENDED_NOW = "it has ended just now"


def compact(
    project: Project, now: datetime, *, dry_run: bool = False, spared: str = ""
) -> Compaction:
    """Seal streams, remove expired runs and remove unused contents, as configured.

    The run with the ID `spared` is kept. If `dry_run` is True, nothing is changed. An error in one
    run is reported, and the other runs are still processed. Raises StreamLocked if another
    `trace compact` is running, StreamDamaged if the record of expired runs is damaged, and
    DiskError if reading or writing fails.
    """
    folder = project.trace
    folder.check()
    if folder.is_copy:  # the database compresses them, and `remora database prune` removes them
        kept = _Compactor(project, take_inventory(folder), _DryRunActions(), now)
        return kept.report(dry_run=dry_run)
    if not folder.path.is_dir():
        return _Compactor(project, Inventory(), _DryRunActions(), now).report(dry_run=dry_run)
    with nullcontext() if dry_run else compaction_lock(folder):
        acts: _Actions = _DryRunActions() if dry_run else _RealActions(project, now)
        working = _Compactor(project, _sparing(take_inventory(folder), spared), acts, now)
        working.run()
        if not dry_run:
            remove_unfinished_files(folder, (now - GRACE).timestamp())
        return working.report(dry_run=dry_run)


def _sparing(found: Inventory, run_id: str) -> Inventory:
    """Return the inventory with one more run that must be kept."""
    runs = tuple(
        msgspec.structs.replace(run, hands_off=run.hands_off or _ENDED_NOW)
        if run.run_id == run_id
        else run
        for run in found.runs
    )
    return msgspec.structs.replace(found, runs=runs)


class _Actions(Protocol):
    """Operations that change files on disk.

    Every method may raise StreamError, NotFound or DiskError.
    """

    def seal(self, stream: StreamFacts) -> int:
        """Seal a stream and return its new size in bytes."""

    def expire(self, run: RunFacts, anchors: Sequence[ExpiredStream]) -> None:
        """Record that a run has expired, then remove the run."""

    def collect(self, contents: Iterable[StoredContent]) -> list[StoredContent]:
        """Remove contents, and return the contents that were removed."""


class _DryRunActions:
    def seal(self, stream: StreamFacts) -> int:
        """Return the size in bytes that the sealed stream would have."""
        return compressed_size(stream.path)

    def expire(self, run: RunFacts, anchors: Sequence[ExpiredStream]) -> None:
        """Do nothing."""

    def collect(self, contents: Iterable[StoredContent]) -> list[StoredContent]:
        return list(contents)


class _RealActions:
    def __init__(self, project: Project, now: datetime) -> None:
        self._project = project
        self._now = now

    def seal(self, stream: StreamFacts) -> int:
        return compress_stream(stream.path)

    def expire(self, run: RunFacts, anchors: Sequence[ExpiredStream]) -> None:
        """Lock the run's stream, then remove the streams of the run and its agents.

        The lock is also held by writers of the agents' streams.
        """
        *agents, own = run.streams
        with locked_stream(own.path) as size:
            if size != own.bytes:
                raise StreamError("its stream was modified a moment ago")
            log_expired(self._project.trace, anchors, self._now)
            with suppress(OutsideError):  # without git or the ref, no commit is kept
                unpin_commit(self._project.root, run.run_id)
            forget_head(self._project.state, run.run_id)
            for stream in (*agents, own):
                remove_stream(stream.path)

    def collect(self, contents: Iterable[StoredContent]) -> list[StoredContent]:
        """Remove contents, except contents that were stored again after the inventory."""
        folder = self._project.trace
        found, before = list(contents), (self._now - GRACE).timestamp()
        removed = {
            (store, digest)
            for store, place in (("blobs", folder.blobs), ("objects", folder.objects))
            for digest in remove_contents(
                place, [c.digest for c in found if c.store == store], before
            )
        }
        return [content for content in found if (content.store, content.digest) in removed]


class _Compactor:
    """A single pass over all runs. Each step uses the result of the previous step."""

    def __init__(self, project: Project, found: Inventory, acts: _Actions, now: datetime) -> None:
        self._policy = Policy.of(project.config.runner.memory.retention)
        self._acts = acts
        self._now = now
        self._runs = {run.run_id: run for run in found.runs}
        self._contents = {(content.store, content.digest): content for content in found.contents}
        self._freed = set(found.freed)
        self._before = self._bytes()
        self._sealed: list[Sealed] = []
        self._expired: dict[str, tuple[RunFacts, str]] = {}
        self._collected: list[StoredContent] = []
        self._problems: list[str] = []

    def run(self) -> None:
        """Expire runs by age, seal the remaining streams, then expire runs by size."""
        runs = list(self._runs.values())
        for run in expiring_by_age(runs, self._policy, self._now):
            self._expire(run, AGE if is_due(run, self._policy.keep, self._now) else PARTIAL)
        for run, stream in to_seal(list(self._runs.values()), self._policy, self._now):
            self._seal(run, stream)
        while not all(self._expire(run, SIZE) for run in self._too_much()):
            pass  # if a run cannot be removed, others may have to be removed instead
        self._collected = self._acts.collect(self._unnamed())
        for content in self._collected:
            del self._contents[content.store, content.digest]

    def report(self, *, dry_run: bool) -> Compaction:
        stores = [content.store for content in self._collected]
        left = list(self._runs.values())
        too_much = self._policy.most_bytes is not None and self._bytes() > self._policy.most_bytes
        kept = kept_past_due(left, self._policy, self._now, too_much=too_much)
        return Compaction(
            dry_run=dry_run,
            sealed=tuple(self._sealed),
            expired=tuple(
                ExpiredRun(run_id=run.run_id, reason=why, streams=len(run.streams), bytes=run.bytes)
                for run, why in self._expired.values()
            ),
            collected=Collected(
                blobs=stores.count("blobs"),
                objects=stores.count("objects"),
                bytes=sum(content.bytes for content in self._collected),
            ),
            kept=tuple(Kept(run_id=run_id, reason=reason) for run_id, reason in kept),
            problems=tuple(self._problems),
            bytes_before=self._before,
            bytes_after=self._bytes(),
        )

    def _expire(self, run: RunFacts, why: str) -> bool:
        try:
            self._acts.expire(run, _anchors(run, why))
        except StreamDamaged:
            return self._leave(run, DAMAGE)
        except (StreamError, NotFound) as error:
            return self._leave(run, error.message)
        self._expired[run.run_id] = run, why
        self._freed.update(run.names or ())
        del self._runs[run.run_id]
        return True

    def _seal(self, run: RunFacts, stream: StreamFacts) -> None:
        try:
            after = self._acts.seal(stream)
        except (StreamError, NotFound) as error:
            self._leave(run, error.message)
            return
        self._sealed.append(
            Sealed(
                kind=stream.kind, id=stream.id, run_id=run.run_id, before=stream.bytes, after=after
            )
        )
        now = msgspec.structs.replace(
            stream, path=compressed_path(stream.path), bytes=after, sealed=True
        )
        run = self._runs[run.run_id]
        streams = tuple(now if found.path == stream.path else found for found in run.streams)
        self._runs[run.run_id] = msgspec.structs.replace(run, streams=streams)

    def _leave(self, run: RunFacts, why: str) -> bool:
        self._runs[run.run_id] = msgspec.structs.replace(run, hands_off=why)
        self._problems.append(f"{run.run_id}: {why}")
        return False

    def _too_much(self) -> Iterator[RunFacts]:
        going = {(content.store, content.digest) for content in self._unnamed()}
        stored = [c for key, c in self._contents.items() if key not in going]
        return expiring_by_size(list(self._runs.values()), stored, self._policy)

    def _unnamed(self) -> Iterator[StoredContent]:
        left = list(self._runs.values())
        return unreferenced(self._contents.values(), left, self._freed, self._policy, self._now)

    def _bytes(self) -> int:
        stored = sum(content.bytes for content in self._contents.values())
        return stored + sum(run.bytes for run in self._runs.values())


def _anchors(run: RunFacts, why: str) -> list[ExpiredStream]:
    """Return the records of the expired streams.

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
                reason=why,
                contents=tuple(sorted(run.names or ())) if stream.kind == "run" else (),
            )
        )
    return found
