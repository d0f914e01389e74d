"""Retention rules, which select what is to be compressed and removed. All are pure functions."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from remora.config.schema import RetentionConfig
from remora.runs.retention.inventory import Inventory, RunFacts
from remora.trace.removal import StoredContent
from remora.trace.trace_folder import is_compressed

GRACE = timedelta(days=1)
"""Minimum age of unreferenced contents to remove.

Commands store contents before the events that reference them.
"""


class Limits(NamedTuple):
    """Ages in days; None is never."""

    remove: int | None = None
    """The age at which runs are removed."""
    compress: int | None = None
    """The age at which they are compressed."""
    backups: int | None = None
    """The age at which backups are removed."""


def limits_of(config: RetentionConfig) -> Limits:
    return Limits(config.keep_days, config.compress_after_days, config.keep_days)


class Due(NamedTuple):
    """What is due."""

    runs: list[RunFacts]
    """The runs to remove."""
    streams: list[Path]
    """The streams to compress."""
    contents: list[StoredContent]
    """The contents to remove after these runs."""


def what_is_due(found: Inventory, limits: Limits, now: datetime) -> Due:
    """Return what is due. The stream of a run follows the streams of its agents."""
    free = [run for run in found.runs if not run.hands_off]
    going = [run for run in free if run.begun or is_older(run.last, limits.remove, now)]
    streams = [
        path
        for run in free
        if run not in going and is_older(run.last, limits.compress, now)
        for path, size in run.streams.items()
        if size and not is_compressed(path)
    ]
    return Due(going, streams, unreferenced(found, going, limits.backups, now))


def is_older(moment: datetime | None, days: int | None, now: datetime) -> bool:
    """Return True if a known moment is older than a number of days that is not None."""
    return moment is not None and days is not None and now - moment > timedelta(days)


def unreferenced(
    found: Inventory, going: Collection[RunFacts], backups: int | None, now: datetime
) -> list[StoredContent]:
    """Return contents that no run references, except those `going`, and that are older than GRACE.

    An object that no removed run referenced may be a backup of a user's file that `accept` made
    before a merge. Such an object is kept until it is older than `backups`, and until the run during
    which it was stored is removed. If the references of any run are unknown, nothing is returned.
    """
    left = [run for run in found.runs if run not in going]
    if any(run.names is None for run in left):
        return []
    named = {name for run in left for name in run.names or ()}
    freed = {*found.freed, *(name for run in going for name in run.names or ())}
    return [
        content
        for content in found.contents
        if content.path.name not in named
        and content.put < (now - GRACE).timestamp()
        and (
            content.path.parent.parent.name != "objects"
            or content.path.name in freed
            or _is_old_backup(content, left, backups, now)
        )
    ]


def _is_old_backup(
    content: StoredContent, left: Iterable[RunFacts], backups: int | None, now: datetime
) -> bool:
    put = datetime.fromtimestamp(content.put, UTC)
    return is_older(put, backups, now) and not any(
        run.first is None or run.last is None or run.first <= put <= run.last for run in left
    )
