"""Retention rules, which select what is to be compressed and removed. All are pure functions."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from remora.config.schema import RetentionConfig
from remora.runs.retention.inventory import Inventory, RunFacts, StreamFacts
from remora.trace.retention.removal import StoredContent
from remora.trace.trace_folder import is_compressed

GRACE = timedelta(days=1)
"""Minimum age of unreferenced contents to remove.

Commands store contents before the events that reference them.
"""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Ages from which runs are removed and compressed, and backups are removed. None is never."""

    remove: timedelta | None = None
    compress: timedelta | None = None
    backups: timedelta | None = None


def limits_of(config: RetentionConfig) -> Limits:
    remove, compress = (
        None if days is None else timedelta(days)
        for days in (config.keep_days, config.compress_after_days)
    )
    return Limits(remove=remove, compress=compress, backups=remove)


class Due(msgspec.Struct, frozen=True):
    """Runs to remove, streams to compress, and contents to remove after these runs."""

    runs: tuple[RunFacts, ...]
    streams: tuple[StreamFacts, ...]
    contents: tuple[StoredContent, ...]


def what_is_due(found: Inventory, limits: Limits, now: datetime, spared: str = "") -> Due:
    """Return what is due, except the run with the ID `spared`.

    The stream of a run follows the streams of its agents.
    """
    free = [run for run in found.runs if not run.hands_off and run.run_id != spared]
    going = [run for run in free if run.begun or is_due(run, limits.remove, now)]
    left = [run for run in found.runs if run not in going]
    streams = (
        stream
        for run in free
        if run not in going and is_due(run, limits.compress, now)
        for stream in run.streams
        if stream.bytes and not is_compressed(stream.path)
    )
    freed = found.freed.union(*(run.names or () for run in going))
    unused = unreferenced(found.contents, left, freed, limits.backups, now)
    return Due(tuple(going), tuple(streams), tuple(unused))


def is_due(run: RunFacts, after: timedelta | None, now: datetime) -> bool:
    """Return True if a run's last event is older than `after`.

    Returns False if there is no limit or the time of the event is unknown.
    """
    return after is not None and run.last is not None and now - run.last > after


def unreferenced(
    contents: Iterable[StoredContent],
    left: Sequence[RunFacts],
    freed: Collection[str],
    backups: timedelta | None,
    now: datetime,
) -> Iterator[StoredContent]:
    """Yield contents that no remaining run references and that are older than GRACE.

    An object that is not in `freed` may be a backup of a user's file that `accept` made before a
    merge. Such an object is kept until it is older than `backups`, and until the run during which
    it was stored is removed. If the references of any run are unknown, nothing is yielded.
    """
    if any(run.names is None for run in left):
        return
    named = {name for run in left for name in run.names or ()}
    for content in contents:
        if content.digest not in named and content.put < (now - GRACE).timestamp():
            backup = content.store == "objects" and content.digest not in freed
            if not backup or _is_old_backup(content, left, backups, now):
                yield content


def _is_old_backup(
    content: StoredContent, left: Iterable[RunFacts], backups: timedelta | None, now: datetime
) -> bool:
    put = datetime.fromtimestamp(content.put, UTC)
    if backups is None or now - put <= backups:
        return False
    return not any(
        run.first is None or run.last is None or run.first <= put <= run.last for run in left
    )
