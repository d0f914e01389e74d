"""Proposals that are made again: what was rejected stays rejected, and nothing is pending twice."""

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from operator import itemgetter

from msgspec.structs import replace

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, node_at_line
from remora.errors import RemoraError
from remora.ids import file_of_key
from remora.memory.canonical import canonical
from remora.operations.base import is_lint_code
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.hunk_groups import groups_of
from remora.runs.records.job_fold import read_job
from remora.runs.records.job_view import JobView, ReviewState
from remora.runs.records.results import read_run
from remora.runs.records.review_verdict import review_event
from remora.runs.records.run_listing import read_run_line
from remora.runs.records.run_record import read_own_record
from remora.runs.records.run_stream import RunStream, open_run
from remora.runs.review.ready_changes import ReadyChange, ready_change, verdict_on
from remora.statuses import CHECKED, REJECTED, TESTED, UNDECIDED, WITHDRAWN
from remora.trace.trace_folder import stream_id
from remora.version import __version__
from remora.workspaces.hunks import hunks_of


def hunk_digests(change: ReadyChange) -> dict[int, str]:
    """Return the identities of the hunks of a change, by their numbers.

    An identity is the same as long as the changed lines, their function and the versions of what
    proposes them are. Other lines of the file do not matter.
    """
    from importlib.metadata import version  # slow to import

    job = change.job
    ruff = version("ruff") if any(map(is_lint_code, job.findings.before or {})) else ""
    bases = {patch.path: patch.base or b"" for patch in change.whole}
    found = dict[int, str]()
    for hunk in hunks_of(change.whole):
        if hunk.number not in change.hunks:
            continue
        module, function = parse_module(hunk.path, bases[hunk.path]), ""
        if isinstance(module, Module):
            node = module.by_key[node_at_line(module, hunk.line)]
            function = "" if node.node_type == "module" else node.source_hash
        lines = [line for line in hunk.diff.splitlines() if line[:1] in ("+", "-")]
        known = [job.operation, __version__, ruff, hunk.path, function, lines]
        found[hunk.number] = sha256(canonical(known)).hexdigest()[:16]
    return found


def _pending(project: ProjectRecords, job: JobView) -> ReadyChange | None:
    """Return the pending hunks of a job, or None if there are none or their contents are damaged."""
    with suppress(RemoraError):
        return ready_change(project, job) if job.review.state in UNDECIDED else None
    return None


def reject_repeats(project: Project, stream: RunStream) -> Mapping[str, CurrentAttempts]:
    """Reject the groups of a run's pending hunks that were rejected before. Return all runs."""
    read = {stream_id(path): read_run_line(path) for path in project.trace.run_streams()}
    runs = {name: line[1] for name, line in read.items() if line is not None}
    refused = dict(ChainMap(*(counted.refused for counted in runs.values())))
    for job in read_run(project, stream.run_id).jobs if refused else ():  # groups need details
        change = _pending(project, job)
        known = hunk_digests(change) if change else {}
        if change is None or refused.keys().isdisjoint(known.values()):
            continue
        groups = [known.keys() & {*group.hunks} for group in groups_of(change.whole, job)]
        repeated = (group for group in groups if all(known[number] in refused for number in group))
        change = change.only(set[int]().union(*repeated))
        if change.hunks:
            again = tuple(known[number] for number in change.hunks)
            told = refused[again[0]].feedback or "the same change was rejected before"
            review = verdict_on(project, change, REJECTED, feedback=told)
            stream.append(replace(review, refused=again))
    return runs


def settle_repeats(project: Project, run_id: str) -> None:
    """Reject what was rejected before, and withdraw what a run proposes again from older runs.

    A change set is withdrawn if all of its hunks are proposed again, and were not taken out by
    gates, which proved as much as in its own run. Runs that cannot be written are left out.
    """
    runs: Mapping[str, CurrentAttempts] = {}
    proposed: dict[tuple[str, str], set[str]] = {}
    with suppress(RemoraError), open_run(project, read_own_record(project, run_id)) as stream:
        runs = reject_repeats(project, stream)
        for job in read_run(project, run_id, details=False).jobs if len(runs) > 1 else ():
            if change := _pending(project, job):
                file = job.operation, file_of_key(job.node_id)
                proposed.setdefault(file, set()).update(hunk_digests(change).values())
    again = []
    for name in runs.keys() - {run_id}:
        if _proof(runs[run_id]) < _proof(runs[name]):
            continue
        for start in runs[name].starts():
            ours = proposed.get((start.operation, file_of_key(start.node_id)))
            if ours and (review := runs[name].review(start.agent_id)) in UNDECIDED:
                job = read_job(project.trace, start, None)
                state = ReviewState(state=review, left=runs[name].left(start.agent_id))
                change = _pending(project, replace(job, review=state))
                hunks = hunk_digests(change).values() if change else ()
                again += [(name, start.agent_id)] if hunks and ours.issuperset(hunks) else []
    _withdraw(project, again, f"proposed again by run {run_id}")


def _proof(run: CurrentAttempts) -> int:
    """Return how much the gates of a run proved. They proved nothing if they have not run."""
    return {CHECKED: 1, TESTED: 2}.get(run.gates.proof, 0) if run.gates else 0


def refused_by(project: Project, run_id: str, jobs: Iterable[JobView]) -> set[str]:
    """Return the identities of the hunks of some jobs that were rejected."""
    found = read_run_line(project.trace.existing_run(run_id))
    refused = found[1].refused if found is not None else {}
    agents = {job.agent_id for job in jobs}
    return {digest for digest, review in refused.items() if review.agent_id in agents}


def forget_refused(project: Project, run_id: str, digests: Collection[str]) -> None:
    """Withdraw what all other runs rejected of these hunks, since `run_id` decides on them again."""
    again = set[tuple[str, str]]()
    for path in project.trace.run_streams() if digests else ():
        found = read_run_line(path) if stream_id(path) != run_id else None
        refused = found[1].refused.items() if found is not None else ()
        agents = {review.agent_id for digest, review in refused if digest in digests}
        again |= {(stream_id(path), agent_id) for agent_id in agents}
    _withdraw(project, again, f"decided again in run {run_id}", {REJECTED})


def _withdraw(
    project: Project,
    proposals: Iterable[tuple[str, str]],
    why: str,
    states: Collection[str] = UNDECIDED,
) -> None:
    """Withdraw change sets in these states, given by run and agent.

    Runs that cannot be written are left out.
    """
    for run_id, group in groupby(sorted(proposals), key=itemgetter(0)):
        agents = {agent_id for _, agent_id in group}
        with suppress(RemoraError), open_run(project, read_own_record(project, run_id)) as stream:
            for job in read_run(project, stream.record, details=False).jobs:
                if job.agent_id in agents and job.review.state in states:
                    stream.append(review_event(project, job, WITHDRAWN, feedback=why))
