"""Retention rules, which select runs to seal or expire and contents to remove.

All rules are pure functions.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from remora.config.schema import RetentionConfig
from remora.trace.retention.unused_contents import StoredContent

GRACE = timedelta(days=1)
"""Minimum age of unreferenced contents to remove.

Commands store contents before the events that reference them.
"""
_MIB = 1024 * 1024
AGE, SIZE, PARTIAL = "age", "size", "begun before"
"""Reasons for expiring a run. `PARTIAL`: a killed command has already removed part of it."""


class StreamFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the file of a stream.

    `torn_bytes` is the total size of incomplete lines that were moved out of the stream.
    """

    kind: Literal["agent", "run"]
    id: str
    path: Path
    bytes: int
    sealed: bool
    torn_bytes: int = 0


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a run, as used by the rules.

    The last item of `streams` is the run's stream. `first` and `last` are the times of its first
    and last event, or None if unknown. `hands_off` is the reason for keeping the run unchanged, or
    an empty string. `begun` is True if part of the run has already been removed. `names` contains
    the hashes of the contents that its streams reference, or is None if a stream cannot be read.
    """

    run_id: str
    first: datetime | None
    last: datetime | None
    hands_off: str
    begun: bool = False
    streams: tuple[StreamFacts, ...]
    names: frozenset[str] | None

    @property
    def bytes(self) -> int:
        return sum(stream.bytes + stream.torn_bytes for stream in self.streams)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Retention limits. None means no limit."""

    keep: timedelta | None
    compress: timedelta | None
    most_bytes: int | None

    @classmethod
    def of(cls, config: RetentionConfig) -> "Policy":
        return cls(
            keep=None if config.keep_days is None else timedelta(config.keep_days),
            compress=None
            if config.compress_after_days is None
            else timedelta(config.compress_after_days),
            most_bytes=None if config.keep_mb is None else config.keep_mb * _MIB,
        )


def is_due(run: RunFacts, after: timedelta | None, now: datetime) -> bool:
    """Return True if a run's last event is older than `after`.

    Returns False if there is no limit or the time of the event is unknown.
    """
    return after is not None and run.last is not None and now - run.last > after


def expiring_by_age(runs: Iterable[RunFacts], policy: Policy, now: datetime) -> Iterator[RunFacts]:
    """Yield runs that are older than the limit or have already been partially removed."""
    for run in runs:
        if not run.hands_off and (run.begun or is_due(run, policy.keep, now)):
            yield run


def to_seal(
    runs: Iterable[RunFacts], policy: Policy, now: datetime
) -> Iterator[tuple[RunFacts, StreamFacts]]:
    """Yield the streams to seal. The stream of a run follows the streams of its agents."""
    for run in runs:
        if not run.hands_off and is_due(run, policy.compress, now):
            for stream in run.streams:
                if not stream.sealed and stream.bytes:
                    yield run, stream


def expiring_by_size(
    runs: Sequence[RunFacts], contents: Iterable[StoredContent], policy: Policy
) -> Iterator[RunFacts]:
    """Yield the oldest runs, until the remaining runs are within the size limit.

    Contents count as freed once the last run that references them has been yielded.
    """
    if policy.most_bytes is None:
        return
    sizes: Counter[str] = Counter()
    for content in contents:
        sizes[content.digest] += content.bytes
    naming = Counter(name for run in runs for name in run.names or ())
    total = sum(run.bytes for run in runs) + sizes.total()
    touchable = [(run.last, run.run_id, run) for run in runs if run.last and not run.hands_off]
    for _, _, run in sorted(touchable, key=lambda found: found[:2]):
        if total <= policy.most_bytes:
            return
        yield run
        named = run.names or frozenset()
        naming.subtract(named)
        total -= run.bytes + sum(sizes[name] for name in named if not naming[name])


def unreferenced(
    contents: Iterable[StoredContent],
    left: Sequence[RunFacts],
    freed: Collection[str],
    policy: Policy,
    now: datetime,
) -> Iterator[StoredContent]:
    """Yield contents that no remaining run references and that are older than GRACE.

    An object that is not in `freed` may be a backup of a user's file that `accept` made before a
    merge. Such an object is kept until a run of the same age would expire, and until the run during
    which it was stored is removed. If the references of any run are unknown, nothing is yielded.
    """
    if any(run.names is None for run in left):
        return
    named = {name for run in left for name in run.names or ()}
    for content in contents:
        if content.digest not in named and content.put < (now - GRACE).timestamp():
            backup = content.store == "objects" and content.digest not in freed
            if not backup or _is_old_backup(content, left, policy, now):
                yield content


def _is_old_backup(
    content: StoredContent, left: Iterable[RunFacts], policy: Policy, now: datetime
) -> bool:
    put = datetime.fromtimestamp(content.put, UTC)
    if policy.keep is None or now - put <= policy.keep:
        return False
    return not any(
        run.first is None or run.last is None or run.first <= put <= run.last for run in left
    )


def kept_past_due(
    runs: Iterable[RunFacts], policy: Policy, now: datetime, *, too_much: bool
) -> Iterator[tuple[str, str]]:
    """Yield the ID of each run that is due but must be kept, with the reason."""
    for run in runs:
        due = too_much or is_due(run, policy.keep, now) or is_due(run, policy.compress, now)
        if run.hands_off and (due or run.last is None):
            yield run.run_id, run.hands_off
