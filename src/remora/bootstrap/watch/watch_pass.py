"""One analysis of the nodes that changed since the last commit."""

import signal
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from remora.agents.job import Job
from remora.bootstrap.api import execute
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.prepare_run import prepare, select_source
from remora.bootstrap.watch.analysed_nodes import AnalysedNodes, node_texts
from remora.bootstrap.watch.outdated_proposals import pending_proposals, split_outdated, withdraw
from remora.files.project_files import project_files
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import concurrency_of
from remora.runs.planning.changed_nodes import changed_files
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.runs.records.results import read_run
from remora.version import __version__

_STORED = "watch.json"


@dataclass(frozen=True, kw_only=True)
class WatchSettings:
    """What a watch does.

    `delay` is the number of seconds without changes before an analysis. `max_jobs` is the maximum
    number of jobs of one run. `concurrency` is the maximum number of concurrent jobs, unless the
    configuration allows fewer.
    """

    operations: tuple[str, ...] = ()
    delay: float = 2.0
    max_jobs: int = 50
    concurrency: int = 1


@dataclass(frozen=True, kw_only=True)
class PassResult:
    """What an analysis did.

    `jobs` are those of the run `run_id`, which is empty if nothing had to be done. `withdrawn` is the
    number of earlier proposals that were rejected because their functions have changed. `left_out`
    has the planned jobs that were too many. `unreadable` has the files that cannot be parsed.
    """

    run_id: str = ""
    jobs: tuple[JobView, ...] = ()
    withdrawn: int = 0
    left_out: tuple[Job, ...] = ()
    unreadable: frozenset[str] = field(default_factory=frozenset)
    stopped: str = ""


def analyse_changes(
    invocation: Invocation, settings: WatchSettings, files: Collection[str] | None
) -> PassResult:
    """Analyse the nodes of `files` (default: all) that differ from HEAD and were not analysed yet.

    Raises whatever `analyze` raises.
    """
    project = open_project(invocation)
    analysed = AnalysedNodes(project.state / _STORED, _settings_hash(invocation, settings, project))
    selected = _to_read(project, analysed, files)
    request = RunRequest(
        operations=settings.operations,
        changed="",
        concurrency=min(settings.concurrency, concurrency_of(RunRequest(), project.config.model)),
        watched=True,
    )
    readable = [path for path in selected if (project.root / path).is_file()]
    source, selection = select_source(invocation, request, project, project.root, readable)
    unreadable = frozenset(str(file["path"]) for file in source.unreadable)
    texts = node_texts(project.root, source.modules)
    changed = analysed.forget_changed({*selected} - unreadable, texts)
    differing = selection.changed or frozenset()
    changed |= {key for key in differing if not analysed.is_known(key, texts[key])}
    if not changed:
        return PassResult(unreadable=unreadable)
    outdated, keys = split_outdated(pending_proposals(project), changed, texts)
    fresh = differing & keys
    paths = {module.path for module in source.modules if any(n.key in fresh for n in module.nodes)}
    found = PassResult()
    if fresh:
        wanted = replace(
            request, keys=fresh, paths=tuple(project.root / path for path in sorted(paths))
        )
        found = _run(invocation, project, wanted, settings.max_jobs)
    withdrawn = 0 if found.stopped else withdraw(project, outdated)
    if not found.stopped:
        left = {key for job in found.left_out for key in (job.node_id, *(job.nodes or ()))}
        analysed.add(texts, fresh - left)
    return replace(found, withdrawn=withdrawn, unreadable=unreadable)


def _settings_hash(invocation: Invocation, settings: WatchSettings, project: Project) -> str:
    """Return a hash of what the result of an analysis depends on, apart from the code."""
    on = [__version__, settings.operations, project.config.model_dump(mode="json")]
    return sha256(msgspec.json.encode([*on, {**invocation.flags}])).hexdigest()


def _to_read(project: Project, analysed: AnalysedNodes, files: Collection[str] | None) -> list[str]:
    """Return the files that differ from HEAD, and those of nodes that were analysed before."""
    if files is None:
        files = project_files(project.root, include=project.config.workspace.include).paths
    python = [path for path in files if path.endswith(".py")]
    found = {*changed_files(project.root, "HEAD", python)}
    return sorted(found | analysed.files().intersection(python))


def _run(
    invocation: Invocation, project: Project, request: RunRequest, max_jobs: int
) -> PassResult:
    """Run the jobs of a request, if there are any. The newest files come first."""
    prepared = prepare(invocation, request, project)
    try:
        jobs = _newest_first(project.root, prepared.plan.jobs)
        chosen, left = jobs[:max_jobs], tuple(jobs[max_jobs:])
        if not chosen:
            return PassResult()
        with _same_signals():
            done = execute(invocation, _only(prepared, chosen))
        found = PassResult(run_id=done.run_id, left_out=left, stopped=done.stopped)
        return found if done.stopped else replace(found, jobs=read_run(project, done.run_id).jobs)
    finally:
        prepared.close()


def _newest_first(root: Path, jobs: Iterable[Job]) -> list[Job]:
    """Order jobs by the time of their files. Jobs of a file stay in order."""

    def age(job: Job) -> float:
        try:
            return -(root / job.path).stat().st_mtime
        except OSError:
            return 0.0

    return sorted(jobs, key=age)


def _only(prepared: PreparedRun, jobs: Iterable[Job]) -> PreparedRun:
    return replace(prepared, plan=msgspec.structs.replace(prepared.plan, jobs=tuple(jobs)))


@contextmanager
def _same_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which the event loop of a run removes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
