"""Retention after a run, in passes of `trace compact`."""

from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from remora.config.user_folders import make_private
from remora.errors import RemoraError, StreamLocked
from remora.runs.project import Project, ProjectRecords
from remora.runs.retention.compact import compact
from remora.runs.retention.retention_rules import Policy
from remora.trace.retention.unused_contents import stored_contents
from remora.trace.trace_folder import TraceFolder

_FILE = "retention.json"
_EVERY = timedelta(days=1)
"""Time between two passes, which read all streams. The limits of age are in days, too."""


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of removed runs and compressed streams, the freed bytes, and the first problem."""

    runs: int = 0
    streams: int = 0
    bytes: int = 0
    problem: str = ""


class _Pass(msgspec.Struct):
    """The last pass. `bytes` is the size that it left, or None if it failed."""

    at: datetime
    bytes: int | None = None


def retain_after_run(project: Project, run_id: str, now: datetime) -> Retained:
    """Apply the retention limits after a run if the user has configured it.

    The run itself is kept. A pass takes place once a day, and when the size limit is exceeded,
    unless a pass of the last day could not keep it. Never raises.
    """
    if not project.config.runner.memory.retention.after_runs or project.trace.is_copy:
        return Retained()
    try:
        if not _is_due(project, now):
            return Retained()
        done = compact(project, now, spared=run_id)
    except StreamLocked:  # another pass
        return Retained()
    except (RemoraError, OSError) as error:
        _record(project, _Pass(at=now))
        return Retained(problem=str(error))
    _record(project, _Pass(at=now, bytes=done.bytes_after))
    return Retained(
        runs=len(done.expired),
        streams=len(done.sealed),
        bytes=done.bytes_before - done.bytes_after,
        problem=next(iter(done.problems), ""),
    )


def _is_due(project: Project, now: datetime) -> bool:
    last = _last_pass(project)
    if last is None or not last.at <= now < last.at + _EVERY:
        return True
    most = Policy.of(project.config.runner.memory.retention).most_bytes
    if most is None or last.bytes is None or last.bytes > most:
        return False
    return _size(project.trace) > most


def _size(folder: TraceFolder) -> int:
    """Return the size of all streams and contents, without reading them."""
    streams = [*folder.agent_streams(), *folder.run_streams()]
    stored = sum(content.bytes for content in stored_contents(folder))
    return stored + sum(path.lstat().st_size for path in streams)


def _last_pass(project: ProjectRecords) -> _Pass | None:
    with suppress(OSError, ValueError):
        return msgspec.json.decode((project.state / _FILE).read_bytes(), type=_Pass)
    return None


def _record(project: ProjectRecords, done: _Pass) -> None:
    """Record a pass. Without the record, the next run makes another pass."""
    with suppress(OSError, RemoraError):
        make_private(project.state)
        (project.state / _FILE).write_bytes(msgspec.json.encode(done))
