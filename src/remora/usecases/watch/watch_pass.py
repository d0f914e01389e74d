"""One analysis of the nodes that changed since the last commit."""

import signal
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import HostError, RemoraError
from remora.files.project_files import project_files
from remora.ids import file_of_key, split_node_key
from remora.regular_file import open_regular
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import concurrency_of
from remora.runs.planning.changed_nodes import changed_files
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_listing import list_run_lines
from remora.runs.review.repeats import withdraw
from remora.statuses import CUT_SHORT, UNDECIDED, WITHOUT_RESULT
from remora.tools.file_tree import TEXT_LIMIT
from remora.usecases.analyze.prepare_run import prepare, select_source
from remora.usecases.analyze.run_result import execute
from remora.usecases.watch.analyzed_nodes import AnalyzedNodes, node_texts
from remora.usecases.watch.watch_settings import WatchSettings, settings_hash
from remora.workspaces.rooted_files import RootedFiles

OUTDATED = "outdated: the code changed after this was proposed"


class Proposal(NamedTuple):
    """A pending change set of a watched run."""

    run: RunView
    job: JobView


def keys_of_job(job: JobView, among: Collection[str]) -> set[str]:
    """Return the keys of the nodes that a job worked on. `among` has those of all nodes."""
    if job.nodes is None:
        return {job.node_id}
    if job.nodes:
        return {*job.nodes}
    path = split_node_key(job.node_id)[0]
    return {job.node_id, *(key for key in among if split_node_key(key)[0] == path)}


def pending_proposals(project: ProjectRecords) -> list[Proposal]:
    """Return the pending change sets of watched runs. Damaged runs are left out."""
    found: list[Proposal] = []
    for line in list_run_lines(project.trace):
        if line.watched and line.is_open:
            with suppress(RemoraError):
                run = read_run(project, line.run_id)
                found += [Proposal(run, job) for job in run.jobs if job.review in UNDECIDED]
    return found


def split_outdated(
    proposals: list[Proposal], changed: Collection[str], among: Collection[str]
) -> tuple[list[Proposal], set[str]]:
    """Return the proposals for nodes that have changed, and the keys of all of their nodes.

    A job may have worked on several nodes of a file. Proposals for its other nodes are outdated
    too, because these nodes are analyzed again.
    """
    keys = set(changed)
    outdated: list[Proposal] = []
    while found := [
        each for each in proposals if not keys.isdisjoint(keys_of_job(each.job, among))
    ]:
        outdated += found
        proposals = [each for each in proposals if each not in found]
        keys = keys.union(*(keys_of_job(each.job, among) for each in found))
    return outdated, keys


_STORED = "watch.json"


@dataclass(frozen=True, kw_only=True)
class PassResult:
    """What an analysis did.

    `jobs` are those of the run `run_id`, which is empty if nothing had to be done. `withdrawn` is
    the number of earlier proposals that are outdated because their functions have changed.
    `left_out` has the planned jobs that were too many. `again` has the files to look at with the
    next change too, because they cannot be parsed or were saved meanwhile.
    """

    run_id: str = ""
    jobs: tuple[JobView, ...] = ()
    withdrawn: int = 0
    left_out: tuple[Job, ...] = ()
    again: frozenset[str] = frozenset()
    stopped: str = ""

    @property
    def failed(self) -> list[JobView]:
        """The jobs that did not end with a result."""
        return [job for job in self.jobs if job.status in WITHOUT_RESULT]


def analyze_changes(
    invocation: Invocation, settings: WatchSettings, files: Collection[str] | None
) -> PassResult:
    """Analyze the nodes of `files` (default: all) that differ from HEAD and were not analyzed yet.

    Nodes whose jobs end with an error count as not analyzed. Raises whatever `analyze` raises.
    """
    project = open_project(invocation)
    analyzed = AnalyzedNodes(project.state / _STORED, settings_hash(invocation, settings, project))
    request = RunRequest(
        operations=settings.operations,
        changed="",
        concurrency=min(settings.concurrency, concurrency_of(RunRequest(), project.config.model)),
        watched=True,
    )
    read = _read(invocation, project, request, _to_read(project, analyzed, files))
    changed = analyzed.changed(read.files, read.texts)
    changed |= {key for key in read.differing if not analyzed.is_known(key, read.texts[key])}
    if not changed:
        return PassResult(again=read.unreadable)
    outdated, keys = split_outdated(pending_proposals(project), changed, read.texts)
    fresh = read.differing & keys
    found = PassResult()
    if fresh:
        paths = sorted({file_of_key(key) for key in fresh})
        wanted = replace(request, keys=fresh, paths=tuple(project.root / path for path in paths))
        found = _run(invocation, project, wanted, settings.max_jobs, read.hashes)
    again = found.again | read.unreadable
    if found.stopped:
        return replace(found, again=again)
    failed = [job for job in found.jobs if job.status in CUT_SHORT]
    open_keys = {key for job in failed for key in keys_of_job(job, read.texts)}
    open_keys |= {key for key in keys if file_of_key(key) in found.again}
    left = {key for job in found.left_out for key in (job.node_id, *(job.nodes or ()))}
    outdated = [
        each for each in outdated if open_keys.isdisjoint(keys_of_job(each.job, read.texts))
    ]
    proposals = [(each.run.run_id, each.job.agent_id) for each in outdated]
    withdrawn = withdraw(project, proposals, OUTDATED)
    analyzed.update(read.texts, added=fresh - left - open_keys, removed=changed - open_keys)
    return replace(found, withdrawn=withdrawn, again=again)


@dataclass(frozen=True, kw_only=True)
class _ReadFiles:
    """What was read of the selected files.

    `files` are those that can be parsed or are gone. `hashes` are those of whole files. `texts` has
    the hashes of all nodes, and `differing` the keys of those that differ from HEAD.
    """

    files: frozenset[str]
    unreadable: frozenset[str]
    hashes: Mapping[str, str]
    texts: Mapping[str, str]
    differing: frozenset[str]


def _read(
    invocation: Invocation, project: Project, request: RunRequest, paths: Sequence[str]
) -> _ReadFiles:
    """Read files from a copy, because they may be saved again meanwhile."""
    with TemporaryDirectory(prefix="remora-watch-") as folder:
        tree = Path(folder)
        copied = [path for path in paths if _copy(project.root, path, tree)]
        source, selection = select_source(invocation, request, project, tree, copied)
        texts = node_texts(tree, source.modules)
        hashes = {path: _hash(tree / path) for path in copied}
    refused = {path for path in paths if path not in copied and (project.root / path).is_file()}
    unreadable = frozenset(refused | {str(file["path"]) for file in source.unreadable})
    return _ReadFiles(
        files=frozenset(paths) - unreadable,
        unreadable=unreadable,
        hashes=hashes,
        texts=texts,
        differing=selection.changed or frozenset(),
    )


def _copy(root: Path, path: str, tree: Path) -> bool:
    """Copy a file to `tree`. Return False if that is not possible."""
    try:
        content = RootedFiles(root).read_bytes(path, limit=TEXT_LIMIT)
    except HostError:
        return False
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_bytes(content)
    return True


def _to_read(project: Project, analyzed: AnalyzedNodes, files: Collection[str] | None) -> list[str]:
    """Return the files that differ from HEAD, and those of nodes that were analyzed before."""
    if files is None:
        files = project_files(project.root, include=project.config.workspace.include).paths
    python = [path for path in files if path.endswith(".py")]
    found = {*changed_files(project.root, "HEAD", python)}
    return sorted(found | analyzed.files().intersection(python))


def _hash(file: Path) -> str:
    """Return the hash of a file, or an empty string if it cannot be read."""
    with suppress(OSError), open_regular(file) as content:
        return file_digest(content, "sha256").hexdigest()
    return ""


def _run(
    invocation: Invocation,
    project: Project,
    request: RunRequest,
    max_jobs: int,
    hashes: Mapping[str, str],
) -> PassResult:
    """Run the jobs of a request, if there are any. The newest files come first.

    `again` of the result has the files that do not have these hashes any more.
    """
    with closing(prepare(invocation, request, project)) as prepared:
        tree = project.root if prepared.base is None else prepared.base.folder
        saved = frozenset(path for path, known in hashes.items() if _hash(tree / path) != known)
        jobs = _newest_first(project.root, prepared.plan.jobs)
        chosen, left = jobs[:max_jobs], tuple(jobs[max_jobs:])
        if not chosen:
            return PassResult(again=saved)
        with _same_signals():
            done = execute(invocation, _only(prepared, chosen))
        found = PassResult(run_id=done.run_id, left_out=left, stopped=done.stopped, again=saved)
        return found if done.stopped else replace(found, jobs=read_run(project, done.run_id).jobs)


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
