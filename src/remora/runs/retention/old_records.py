"""Removal of old runs and of what only they referenced, and compression of their streams.

Each step is atomic, so an interrupted pass can be run again. A run is first logged as expired. Its
stream is removed after the streams of its agents.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from remora.config.user_folders import make_private
from remora.errors import OutsideError, RemoraError, StreamDamaged, StreamError
from remora.files.file_lock import try_lock
from remora.runs.project import Project
from remora.runs.provenance import forget_head
from remora.runs.retention.inventory import Inventory, RunFacts, take_inventory
from remora.runs.retention.removable import Removable, Removal, remove_all
from remora.runs.retention.retention_rules import Limits, limits_of, unreferenced, what_is_due
from remora.trace.read.verified_reader import verified_head
from remora.trace.removal import ExpiredStream, log_expired, remove_contents, remove_stream
from remora.trace.stream.compression import compress_stream, locked_file
from remora.trace.trace_folder import stream_id
from remora.workspaces.commit_files import unpin_commit

_MARKER = "retention.json"
"""An empty file in the state folder. Its time is that of the last pass."""
_EVERY = timedelta(days=1)
"""Time between two passes, which read all streams. The limits of age are in days, too."""


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """What retention has done."""

    runs: int = 0
    """The number of removed runs."""
    streams: int = 0
    """The number of compressed streams."""
    bytes: int = 0
    """The freed bytes."""
    problems: tuple[str, ...] = ()


def retain_after_run(project: Project, run_id: str, now: datetime) -> Retained:
    """Apply the retention limits once a day if configured. The run is kept. Never raises."""
    config, last = project.config.runner.memory.retention, project.state / _MARKER
    if not config.after_runs or project.trace.is_copy:
        return Retained()
    with suppress(OSError):
        if 0 <= now.timestamp() - last.stat().st_mtime < _EVERY.total_seconds():
            return Retained()
    try:
        project.trace.check()
        with try_lock(project.trace.path) as is_free:
            if not is_free:  # another pass
                return Retained()
            result = retain(project, limits_of(config), now, spared=run_id)
    except (RemoraError, OSError) as error:
        result = Retained(problems=(str(error),))
    with suppress(OSError, RemoraError):  # without the record, the next run makes another pass
        make_private(project.state)
        last.touch()
        os.utime(last, (now.timestamp(),) * 2)
    return result


def retain(project: Project, limits: Limits, now: datetime, *, spared: str = "") -> Retained:
    """Remove and compress what is due, except the run with the ID `spared`."""
    found = take_inventory(project.trace, now)
    done = remove_all(old_records(project, found, limits, now, spared=spared))
    kinds = [what.kind for what in done.removed]
    runs, streams = kinds.count("run"), kinds.count("stream")
    return Retained(runs=runs, streams=streams, bytes=done.bytes, problems=done.problems)


def old_records(
    project: Project, found: Inventory, limits: Limits, now: datetime, *, spared: str = ""
) -> Iterator[Removal]:
    """Yield old runs, streams to compress, and unreferenced contents.

    The run with the ID `spared` is left out.
    """
    due = what_is_due(found, limits, now, spared)
    for run in due.runs:
        what = Removable(kind="run", name=run.run_id, bytes=run.bytes)
        yield what, partial(_remove_run, project, run, now)
    for path in due.streams:
        yield Removable(kind="stream", name=stream_id(path)), partial(_compress, path)
    if due.contents:
        name = f"{len(due.contents):,} unreferenced blobs and objects"
        size = sum(content.bytes for content in due.contents)
        what = Removable(kind="contents", name=name, bytes=size)
        yield what, partial(_remove_contents, project, limits, now)


def _compress(path: Path) -> int:
    return path.stat().st_size - compress_stream(path)


def _remove_contents(project: Project, limits: Limits, now: datetime) -> int:
    """Remove contents that are unreferenced after runs were removed."""
    found = take_inventory(project.trace, now)
    return remove_contents(unreferenced(found, (), limits.backups, now))


def _remove_run(project: Project, run: RunFacts, now: datetime) -> None:
    """Log a run and its agents as expired, and remove their streams.

    All writers of the run's streams hold the lock on the file of the run's own stream.
    """
    *agents, own = run.streams
    entries = [_expired(run, path, "agent") for path in agents]
    entries.append(_expired(run, own, "run", tuple(sorted(run.names or ()))))
    if project.trace.find_run(run.run_id) != own:
        raise StreamError("its stream was modified a moment ago")
    with locked_file(own) as (file, _):
        if os.fstat(file).st_size != run.streams[own] or verified_head(own) != entries[-1].head:
            raise StreamError("its stream was modified a moment ago")
        log_expired(project.trace, entries, now)
        for path in agents:
            remove_stream(path)
        with suppress(OutsideError):  # without git or the ref, no commit is kept
            unpin_commit(project.root, run.run_id)
        forget_head(project.state, run.run_id)
        for text in project.trace.runs.glob(f"{run.run_id}-????????.md"):  # of pull requests
            text.unlink()
        remove_stream(own)


def _expired(
    run: RunFacts, path: Path, kind: Literal["agent", "run"], contents: tuple[str, ...] = ()
) -> ExpiredStream:
    """Return the log entry of a stream, and raise StreamDamaged if it is not as it was recorded."""
    name, head, size = stream_id(path), verified_head(path), run.streams[path]
    if run.heads.get(name, head) != head:
        raise StreamDamaged(f"{name} differs from its run's record")
    return ExpiredStream(
        kind=kind, id=name, run_id=run.run_id, head=head, bytes=size, contents=contents
    )
