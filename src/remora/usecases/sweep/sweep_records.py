"""The runs of sweeps, as recorded in the projects of a list of repositories."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project, open_records
from remora.config.repository_list import ListedRepository
from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import LAST
from remora.memory.events import Event, RunStart
from remora.runs.project import ProjectRecords
from remora.runs.records.run_record import read_own_record
from remora.trace.read.reader import read_events, typed_payload
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.usecases.sweep.earlier_sweep import SWEEP


class SweptProject(NamedTuple):
    """The project of a listed repository, and its run.

    `run_id` is the run with the name that was asked for. If there is none, for example because
    nothing had changed, it is the last run of an earlier sweep with the same operations, and
    `is_earlier` is true. It is None if there is no such run.
    `error` says why the project cannot be opened. It and `project` are None if the folder does not
    exist, because then there is nothing to open.
    """

    name: str
    root: Path
    project: ProjectRecords | None
    run_id: str | None
    is_earlier: bool = False
    error: RemoraError | None = None


class SweepList(NamedTuple):
    """All sweeps of the listed repositories, oldest first, and why repositories cannot be read.

    `projects` are those of the repositories that can be read.
    """

    sweeps: Sequence["RecordedSweep"]
    projects: Sequence[ProjectRecords]
    errors: Mapping[str, RemoraError]


class RecordedSweep(NamedTuple):
    """A run of a sweep in all listed repositories."""

    run_id: str
    projects: tuple[SweptProject, ...]

    def unreadable(self) -> Iterator[tuple[str, RemoraError]]:
        """Yield the name of each repository that cannot be opened, with the error."""
        for each in self.projects:
            if each.error is not None:
                yield each.name, each.error

    def missing(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and the folder of each repository whose folder does not exist."""
        for each in self.projects:
            if each.project is None and each.error is None:
                yield each.name, each.root

    def recorded(self) -> Iterator[tuple[str, ProjectRecords, str]]:
        """Yield the name, the project and the run of each repository that has a run."""
        for each in self.projects:
            if each.project is not None and each.run_id is not None:
                yield each.name, each.project, each.run_id

    def without_earlier(self) -> "RecordedSweep":
        """Return the sweep with only the repositories in which the run itself was recorded."""
        projects = (one for one in self.projects if one.run_id and not one.is_earlier)
        return self._replace(projects=tuple(projects))

    def current(self) -> Iterator[tuple[str, ProjectRecords, str]]:
        """Yield the repositories in which the run itself was recorded, not an earlier one."""
        return self.without_earlier().recorded()


def read_sweep(
    invocation: Invocation, repositories: Sequence[ListedRepository], name: str
) -> RecordedSweep:
    """Find the run of a sweep, by its ID, a unique prefix of it, or `last`.

    Repositories that cannot be opened are included with the error. Raises NotFound if no
    repository has such a run, and UsageError if several runs match.
    """
    found = _Projects.open(invocation, repositories)
    return found.sweep(_named(found.run_ids, name))


def sweep_at(
    invocation: Invocation, repositories: Sequence[ListedRepository], run_id: str
) -> RecordedSweep:
    """Return a sweep, or the newest one if no repository has the run `run_id`."""
    found = _Projects.open(invocation, repositories)
    return found.sweep(run_id if run_id in found.run_ids else max(found.run_ids, default=run_id))


def list_sweeps(invocation: Invocation, repositories: Sequence[ListedRepository]) -> SweepList:
    """Return all sweeps of the listed repositories."""
    found = _Projects.open(invocation, repositories)
    return SweepList(
        [found.sweep(run_id) for run_id in sorted(found.run_ids)],
        [one.project for one in found.opened if one.project is not None],
        {one.name: one.error for one in found.opened if one.error is not None},
    )


def _open_repository(invocation: Invocation, repository: ListedRepository) -> SweptProject:
    """Open the records of a listed repository. `run_id` of the result is None."""
    name, root = repository.name, repository.root
    if not root.is_dir():
        return SweptProject(name, root, None, None)
    try:
        project = open_records(_invocation_at(invocation, root))
    except RemoraError as error:
        return SweptProject(name, root, None, None, error=error)
    return SweptProject(name, project.root, project, None)


def _invocation_at(invocation: Invocation, root: Path) -> Invocation:
    return Invocation(environ=invocation.environ, folder=root, root=root, flags=invocation.flags)


def own_settings(
    invocation: Invocation, sweep: RecordedSweep, *, trusted: bool
) -> Mapping[str, Any]:
    """Return what a run has recorded about its sweep, from a repository with a sound record.

    Unless `trusted` is true, this installation must have started the run there. Raises the error of
    the first repository if none has such a record.
    """
    errors: list[RemoraError] = []
    for _, project, run_id in sweep.current():
        try:
            whole = open_project(_invocation_at(invocation, project.root))
            record = read_own_record(whole, run_id, trusted=trusted)
        except RemoraError as error:
            errors.append(error)
            continue
        found = _sweep_in(record.events[0]) if record.events else None
        if found is not None:
            return found
    raise errors[0] if errors else NotFound(f"the run {sweep.run_id} is not that of a sweep")


class _Projects(NamedTuple):
    """The projects of a list, and the runs of sweeps in each."""

    opened: Sequence[SweptProject]
    runs: Mapping[str, Mapping[str, Sequence[str]]]
    """The operations of each run, by the name of the repository and the run's ID."""

    @classmethod
    def open(cls, invocation: Invocation, repositories: Sequence[ListedRepository]) -> "_Projects":
        opened = [_open_repository(invocation, repository) for repository in repositories]
        known = {
            swept.name: _sweep_runs(swept.project.trace, swept.name)
            for swept in opened
            if swept.project is not None
        }
        return cls(opened, known)

    @property
    def run_ids(self) -> set[str]:
        return {run for each in self.runs.values() for run in each}

    def sweep(self, run_id: str) -> RecordedSweep:
        operations = next((runs[run_id] for runs in self.runs.values() if run_id in runs), ())
        projects = (self._with_run(one, run_id, operations) for one in self.opened)
        return RecordedSweep(run_id, tuple(projects))

    def _with_run(self, one: SweptProject, run_id: str, operations: Sequence[str]) -> SweptProject:
        runs = self.runs.get(one.name, {})
        same = (run for run, its in runs.items() if run <= run_id and its == operations)
        found = max(same, default=None)
        return one._replace(run_id=found, is_earlier=found is not None and found != run_id)


def _sweep_runs(trace: TraceFolder, name: str) -> dict[str, Sequence[str]]:
    """Return the operations of each run that belongs to a sweep of the repository `name`.

    With a database, two repositories with the same first commit share their streams.
    """
    found = ((stream_id(path), _sweep_of(path)) for path in trace.run_streams())
    return {
        run_id: sweep.get("operations", ())
        for run_id, sweep in found
        if sweep is not None and sweep.get("repository") == name
    }


def _sweep_of(path: Path) -> Mapping[str, Any] | None:
    """Return what a run has recorded about its sweep, also if its stream is damaged later."""
    try:
        first = next(read_events(path), None)
        return None if first is None else _sweep_in(first)
    except RemoraError:
        return None


def _sweep_in(first: Event) -> Mapping[str, Any] | None:
    start = typed_payload(first)
    found = start.config.get(SWEEP) if isinstance(start, RunStart) else None
    return found if isinstance(found, dict) else None


def _named(known: set[str], name: str) -> str:
    if name == LAST and known:
        return max(known)
    found = sorted(run for run in known if run.startswith(name))
    if name in known or len(found) == 1:
        return name if name in known else found[0]
    if found:
        raise UsageError(f"{name!r} is a prefix of more than one run", hint=", ".join(found[:5]))
    raise NotFound(
        "no sweep of these repositories is recorded" if name == LAST else f"no sweep {name!r}",
        hint="`remora sweep list FILE` lists them; `remora sweep run FILE` starts one",
    )
