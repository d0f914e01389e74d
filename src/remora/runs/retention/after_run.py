"""Retention after a run: once a day, if the user has configured it."""

from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from remora.config.user_folders import make_private
from remora.errors import RemoraError, StreamLocked
from remora.runs.project import Project, ProjectRecords
from remora.runs.retention.compact import Retained, compact
from remora.runs.retention.retention_rules import limits_of

_FILE = "retention.json"
_EVERY = timedelta(days=1)
"""Time between two passes, which read all streams. The limits of age are in days, too."""


class _Pass(msgspec.Struct):
    """The last pass."""

    at: datetime


def retain_after_run(project: Project, run_id: str, now: datetime) -> Retained:
    """Apply the retention limits after a run if configured. The run is kept. Never raises."""
    config = project.config.runner.memory.retention
    if not config.after_runs or project.trace.is_copy or not _is_due(project, now):
        return Retained()
    try:
        done = compact(project, limits_of(config), now, spared=run_id)
    except StreamLocked:  # another pass
        return Retained()
    except (RemoraError, OSError) as error:
        done = Retained(problems=(str(error),))
    with suppress(OSError, RemoraError):  # without the record, the next run makes another pass
        make_private(project.state)
        (project.state / _FILE).write_bytes(msgspec.json.encode(_Pass(now)))
    return done


def _is_due(project: ProjectRecords, now: datetime) -> bool:
    with suppress(OSError, ValueError):
        last = msgspec.json.decode((project.state / _FILE).read_bytes(), type=_Pass).at
        return not last <= now < last + _EVERY
    return True
