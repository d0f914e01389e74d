"""Runs the recorded plans of a sweep."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import OutsideError, RemoraError, StreamLocked
from remora.models.protocol import Model
from remora.runs.execution.run import RunObserver
from remora.runs.records.run_record import read_own_record
from remora.threads import run_in_thread
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.remote_workers import LOCAL
from remora.usecases.analyze.resume_run import (
    Resumable,
    connect_wanted,
    prepare_resume,
    run_remaining,
)
from remora.usecases.sweep.bounded_work import as_completed

AT_ONCE = 16
"""Number of repositories whose jobs are handed out to workers at the same time."""


class RepositoryEnd(NamedTuple):
    """The end of a repository's run. `error` says why it could not be finished, or is None."""

    name: str
    error: RemoraError | None


class SweepRun(NamedTuple):
    """A run to finish in several repositories.

    `roots` maps the names of the repositories to their projects' roots.
    """

    run_id: str
    roots: Mapping[str, Path]
    environ: Mapping[str, str]
    flags: Mapping[str, Any]
    engine: str
    concurrency: int | None = None
    trusted: bool = False

    def finish(self, observe: Callable[[str], RunObserver]) -> AsyncIterator[RepositoryEnd]:
        """Run the remaining jobs in all repositories, and yield each one's end.

        `observe` returns the observer for a repository. Jobs on this machine run for one repository
        after the other. Raises StreamLocked if another process runs them.
        """
        return as_completed(
            lambda name: self._finish_one(name, observe(name)),
            self.roots,
            1 if self.engine == LOCAL else AT_ONCE,
        )

    async def _finish_one(self, name: str, observer: RunObserver) -> RepositoryEnd:
        try:
            wanted, models = await run_in_thread(self._prepare, self.roots[name])
            try:
                if not wanted.nothing_to_do:
                    await run_remaining(wanted, models, observer, utc_now)
            finally:
                for model in models.values():
                    await model.aclose()
        except StreamLocked:
            raise
        except RemoraError as error:
            return RepositoryEnd(name, error)
        except OSError as error:
            return RepositoryEnd(name, OutsideError(str(error)))
        return RepositoryEnd(name, None)

    def _prepare(self, root: Path) -> tuple[Resumable, Mapping[str, Model]]:
        invocation = Invocation(environ=self.environ, folder=root, root=root, flags=self.flags)
        project = open_project(invocation)
        record = read_own_record(project, self.run_id, trusted=self.trusted)
        wanted = prepare_resume(
            invocation, project, record, engine=self.engine, concurrency=self.concurrency
        )
        return wanted, {} if wanted.nothing_to_do else connect_wanted(invocation, wanted)
