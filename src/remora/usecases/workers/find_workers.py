"""Finds the workers of an engine, and has each one report about itself."""

import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import psycopg

from remora.config.schema import PostgresConfig
from remora.engines.ray_messages import Failed, RayReports, Reported
from remora.engines.worker_report import WorkerReport
from remora.errors import OutsideError
from remora.usecases.analyze.remote_workers import QUEUE, require_engine

_QUEUE_S, _RAY_S = 30.0, 120.0
"""Time for all answers. A worker that must wait for its model server takes several seconds."""


class FoundWorkers(NamedTuple):
    """The reports of workers, and the number of workers that are alive but gave none."""

    reports: list[WorkerReport]
    silent: int


def find_workers(engine: str, database: PostgresConfig, environ: Mapping[str, str]) -> FoundWorkers:
    """Return the reports of all workers of an engine.

    Raises ConfigError if the engine's extra is not installed, and DatabaseError or OutsideError if
    its workers cannot be asked.
    """
    require_engine(engine)
    if engine == QUEUE:
        return _in_queue(database)
    return FoundWorkers(_on_nodes(environ), 0)


def _in_queue(database: PostgresConfig) -> FoundWorkers:
    from remora.engines.report_requests import request_reports
    from remora.trace.postgres.database import Database
    from remora.trace.postgres.queue_workers import count_queue_workers

    dsn = database.dsn or ""
    connections = Database(dsn, patience_s=0)
    try:
        alive = connections.run(
            lambda connection: count_queue_workers(connection, database.lease_s)
        )
        reports = request_reports(dsn, lambda number: number >= alive, _QUEUE_S) if alive else []
    except psycopg.Error as error:
        raise connections.error(error) from error
    finally:
        connections.close()
    return FoundWorkers(reports, max(0, alive - len(reports)))


def _on_nodes(environ: Mapping[str, str]) -> list[WorkerReport]:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "remora.worker.ray_connection"],
            input=msgspec.json.encode(RayReports()) + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",  # Ray adds it to the import path of its workers
            env={**environ, "RAY_USAGE_STATS_ENABLED": "0"},
            start_new_session=True,
            timeout=_RAY_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OutsideError(
            f"the Ray cluster gave no answer in {_RAY_S:g} s",
            hint="check the cluster with `ray status`",
        ) from error
    found = []
    for line in done.stdout.splitlines():
        report = msgspec.json.decode(line, type=Reported | Failed)
        if isinstance(report, Failed):
            raise OutsideError(report.message, hint=report.hint)
        found.append(report.report)
    return found
