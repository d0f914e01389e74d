"""Makes the report of this worker, for `remora doctor --engine`."""

import os
import platform
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from psycopg import Connection

from remora.bootstrap.invocation import Invocation, open_config
from remora.bootstrap.open_project import model_status
from remora.config.schema import Config
from remora.config.user_folders import UserFolders
from remora.engines.worker_report import WorkerReport
from remora.errors import RemoraError
from remora.files.git import git_output
from remora.runs.execution.shard_task import code_digest
from remora.sandbox.isolation import best_level
from remora.trace.postgres.database import Database

_ROLE = "SELECT current_user, has_table_privilege('events', 'INSERT')"
# a partition has rights of its own
_RIGHTS = """
SELECT DISTINCT verb FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace,
    unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS verb
WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND relname ~ '^(events|contents)'
    AND (has_table_privilege(pg_class.oid, verb)
        OR verb = 'UPDATE' AND has_any_column_privilege(pg_class.oid, 'UPDATE'))
ORDER BY verb
"""
_NOWHERE = Path("/")
_LONGEST = 300
"""Characters of an error: a report must fit into a notification."""


def report_worker(environ: Mapping[str, str], dsn: str | None = None) -> WorkerReport:
    """Return the report of this process, with its environment and its user's configuration.

    `dsn` is the database that the worker uses, if it is not the configured one. Never raises
    RemoraError.
    """
    report = WorkerReport(
        host=socket.gethostname(),
        pid=os.getpid(),
        python=platform.python_version(),
        code=code_digest(),
        isolation=best_level(),
        git=_git(),
    )
    invocation = Invocation(environ=environ, folder=_NOWHERE, root=_NOWHERE)
    try:
        config = open_config(invocation, _NOWHERE)
        free = _free_bytes(invocation.folders)
        report = msgspec.structs.replace(report, free_bytes=free)
        report = _with_model(report, invocation, config)
    except (RemoraError, OSError) as error:
        return msgspec.structs.replace(report, error=str(error)[:_LONGEST])
    return _with_database(report, dsn if dsn is not None else config.postgres.dsn or "")


def _git() -> str:
    try:
        return git_output(_NOWHERE, "version").decode(errors="replace").strip()[:_LONGEST]
    except RemoraError:
        return ""


def _free_bytes(folders: UserFolders) -> int:
    """Return the free space for checkouts and copies."""
    folder = folders.cache
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _with_model(report: WorkerReport, invocation: Invocation, config: Config) -> WorkerReport:
    status = model_status(invocation, config)
    return msgspec.structs.replace(
        report,
        model=str(status.document["name"] or ""),
        model_error=status.problem.message[:_LONGEST] if status.problem else "",
        model_is_needed=not status.is_optional,
    )


def _with_database(report: WorkerReport, dsn: str) -> WorkerReport:
    try:
        database = Database(dsn, patience_s=0)
        try:
            ahead = database.measure().ahead_s
            rights: _RoleRights = database.run(_role_rights)
        finally:
            database.close()
    except RemoraError as error:
        return msgspec.structs.replace(report, database_error=error.message[:_LONGEST])
    return msgspec.structs.replace(
        report,
        database=database.address,
        role=rights.role,
        may_append=rights.may_append,
        changes=rights.changes,
        clock_ahead_s=round(ahead, 3),
    )


class _RoleRights(NamedTuple):
    """A role, whether it may append events, and what it could do to events that are stored."""

    role: str
    may_append: bool
    changes: tuple[str, ...]


def _role_rights(connection: Connection[Any]) -> _RoleRights:
    """Return the rights of the connection's role. Call it in the schema of the tables.

    Raises psycopg.Error if there are no tables or the role may not see them.
    """
    role, may_append = connection.execute(_ROLE).fetchone() or ("", False)
    changes = tuple(row[0] for row in connection.execute(_RIGHTS).fetchall())
    return _RoleRights(str(role), bool(may_append), changes)
