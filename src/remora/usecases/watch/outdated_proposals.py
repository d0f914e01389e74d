"""Proposals of earlier watched runs whose functions have changed since."""

from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from remora.errors import RemoraError
from remora.ids import split_node_key
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_listing import list_run_lines
from remora.statuses import UNDECIDED

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
