"""Connects a run to the workers of the queue."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from remora.bootstrap.open_trace import require_extra
from remora.errors import UsageError
from remora.memory.events import Head
from remora.runs.execution.engine import EndedAgent, Engine, RemoteWorkers, Shard, StartedRun
from remora.runs.execution.shard_task import ShardTask, code_digest
from remora.runs.execution.shared_repository import shared_repository
from remora.runs.project import Project, ProjectRecords

if TYPE_CHECKING:  # the extra may be missing
    from remora.trace.postgres.store import PostgresTraceStore

LOCAL = "local"
_EVER = datetime.min.replace(tzinfo=UTC)
_OVERLAP = timedelta(seconds=30)
"""Time for which an append may be under way between its time stamp and its commit."""


def workers_for(project: Project, engine: str) -> RemoteWorkers | None:
    """Return the workers of an engine, or None for jobs in this process.

    Raises UsageError if the project's streams are not in a database, and ConfigError if the
    extra `queue` is not installed.
    """
    if engine == LOCAL:
        return None
    if project.config.runner.memory.trace_store != "postgres":
        raise UsageError(
            f"--engine {engine} needs streams that all machines reach",
            hint="set runner.memory.trace_store: postgres; see docs/how-to/scale.md",
        )
    require_extra("procrastinate", "queue")
    from remora.engines.queue_engine import QueueEngine
    from remora.trace.postgres.store import PostgresTraceStore

    store = project.open_store()
    assert isinstance(store, PostgresTraceStore)
    database = project.config.postgres

    def make_engine(started: StartedRun) -> Engine:
        make_task = _task_maker(project, store, started)
        return QueueEngine(database.dsn or "", database.lease_s, make_task)

    since = _EVER

    def ended_agents(run_id: str, everything: bool) -> Iterator[EndedAgent]:
        nonlocal since
        for row in store.ended_agents(run_id, _EVER if everything else since):
            since = max(row.ended - _OVERLAP, since)
            yield EndedAgent(row.agent_id, row.status, Head(count=row.events, hash=row.head))

    return RemoteWorkers(make_engine, ended_agents)


def _task_maker(
    project: ProjectRecords, store: "PostgresTraceStore", started: StartedRun
) -> Callable[[Shard], ShardTask]:
    from remora.trace.postgres.owner import this_machine

    repository = shared_repository(project, this_machine(), started.run_id, started.commit)

    def make_task(shard: Shard) -> ShardTask:
        return ShardTask(
            run_id=started.run_id,
            project=store.project,
            number=shard.number,
            agents=tuple(job.agent_id for job in shard.jobs),
            start_hash=started.start_hash,
            code=code_digest(),
            repository=repository,
        )

    return make_task
