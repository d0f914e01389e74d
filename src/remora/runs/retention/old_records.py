"""Removal of old runs and of what only they referenced, and compression of their streams.

Each step is atomic, so an interrupted pass can be run again. A run is first logged as expired. Its
stream is removed after the streams of its agents.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

from remora.errors import OutsideError, StreamDamaged, StreamError
from remora.runs.project import Project
from remora.runs.provenance import forget_head
from remora.runs.retention.inventory import Inventory, RunFacts, take_inventory
from remora.runs.retention.removable import Removable, Removal
from remora.runs.retention.retention_rules import Limits, unreferenced, what_is_due
from remora.trace.read.verified_reader import verified_head
from remora.trace.removal import ExpiredStream, log_expired, remove_contents, remove_stream
from remora.trace.stream.compression import compress_stream, locked_file
from remora.trace.trace_folder import stream_id
from remora.workspaces.commit_files import unpin_commit


def old_records(
    project: Project, found: Inventory, limits: Limits, now: datetime
) -> Iterator[Removal]:
    """Yield old runs, streams to compress, and unreferenced contents."""
    due = what_is_due(found, limits, now)
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
