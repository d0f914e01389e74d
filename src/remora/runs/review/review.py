"""What people say of change sets, and how an accepted one reaches the user's files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remora.errors import StreamDamaged
from remora.hub.observed_links import Observation
from remora.memory.events import Head
from remora.runs.project import Project
from remora.runs.provenance import check_anchored, check_ours
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import read_run
from remora.runs.records.review_verdict import said, verdict_on
from remora.runs.records.run_stream import RunStream, opened_run
from remora.runs.review.apply_changes import land, objections
from remora.runs.review.filters import ALL, Narrowing, narrowed
from remora.runs.review.journals import complete_journals, details
from remora.runs.review.merges import merged_with_others
from remora.runs.review.observed_tests import witnessed
from remora.runs.review.recheck import Recheck, users_tree
from remora.runs.review.selection import chosen
from remora.workspaces.apply.transaction import FilePatch, prepare_changes

Usable = tuple[JobView, list[FilePatch]]
"""A job that can be accepted, and what it would write."""
Pace = Callable[[Sequence[Usable]], Iterable[Usable]]
"""Hands them out one after the other, and may show how far that is."""


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """What a review came to. `conflicts`: `{node_id, path, detail}`; `notes` in words, and in words
    `damaged`: what could not be used, for its stream or a content is not what was recorded.
    `observed`: what tests that stand in the project now were seen to run."""

    run_id: str
    accepted: list[str]
    rejected: list[str]
    conflicts: list[dict[str, Any]]
    notes: list[str]
    damaged: list[str]
    head: Head
    observed: Observation | None = None


def accept(  # noqa: PLR0913 (all that a person can say)
    project: Project,
    run_id: str,
    nodes: Sequence[str],
    *,
    every: bool = False,
    narrow: Narrowing = ALL,
    trusted: bool = False,
    pace: Pace = iter,
) -> Verdicts:
    """Write the chosen change sets to the user's files, each whole or not at all.

    Raises UsageError (nothing chosen, or a run that is not ours), NotFound (an unknown node),
    StreamLocked (the run is still going on), StreamDamaged where all that is chosen is damaged.
    """
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    complete_journals(project)
    accepted: list[JobView] = []
    with opened_run(project, run_id) as stream:
        picked = pick(project, run_id, nodes, every=every, narrow=narrow)
        recheck = Recheck(project, run_id, picked.notes)

        def act(job: JobView, patches: Sequence[FilePatch]) -> list[dict[str, Any]]:
            found = _accept_one(project, stream, job, patches, recheck)
            if not found:
                accepted.append(job)
            return found

        done = decided(stream, picked, act, pace)
        return replace(done, observed=witnessed(project, accepted))


def reject(  # noqa: PLR0913 (all that a person can say)
    project: Project,
    run_id: str,
    nodes: Sequence[str],
    *,
    every: bool = False,
    narrow: Narrowing = ALL,
    feedback: str | None = None,
    trusted: bool = False,
) -> Verdicts:
    """Say no to the chosen change sets. Raises as `accept` does, and UsageError for a feedback
    that is too long for one line of a stream."""
    told = said(feedback, project.redact)
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    with opened_run(project, run_id) as stream:
        view = read_run(project, run_id)
        jobs = chosen(view, nodes, every=every or bool(narrow and not nodes), verb="reject")
        jobs, left = narrowed(project, jobs, narrow)
        for job in jobs:
            stream.append(verdict_on(job, "rejected", feedback=told))
        return Verdicts(
            run_id=run_id,
            accepted=[],
            rejected=[job.node_id for job in jobs],
            conflicts=[],
            notes=left,
            damaged=[],
            head=stream.head,
        )


@dataclass(frozen=True, kw_only=True)
class Picked:
    """Jobs that can be accepted with what they would write; what is to be said of the others."""

    usable: list[Usable]
    notes: list[str]
    damaged: list[str]


def pick(
    project: Project, run_id: str, nodes: Sequence[str], *, every: bool, narrow: Narrowing
) -> Picked:
    """The change sets that were asked for, of a run that nobody else writes. Raises as `accept`."""
    view = read_run(project, run_id)
    everything = every or bool(narrow and not nodes)
    jobs = chosen(view, nodes, every=everything, verb="accept")
    jobs, left = narrowed(project, jobs, narrow)
    usable, broken = sound(project, jobs)
    if broken and not usable:
        raise broken[0]
    unread = [str(job.error) for job in view.damaged] if everything else []
    return Picked(
        usable=usable,
        notes=left,
        damaged=unread + [f"{error.message}; {error.hint}" for error in broken],
    )


def decided(
    stream: RunStream,
    picked: Picked,
    act: Callable[[JobView, Sequence[FilePatch]], list[dict[str, Any]]],
    pace: Pace,
) -> Verdicts:
    """Accept what was picked, one after the other; `act` returns the conflicts, none if it is
    accepted."""
    met = [(job.node_id, act(job, patches)) for job, patches in pace(picked.usable)]
    return Verdicts(
        run_id=stream.run_id,
        accepted=[node_id for node_id, found in met if not found],
        rejected=[],
        conflicts=[conflict for _, found in met for conflict in found],
        notes=picked.notes,
        damaged=picked.damaged,
        head=stream.head,
    )


def sound(project: Project, jobs: Iterable[JobView]) -> tuple[list[Usable], list[StreamDamaged]]:
    """The jobs whose streams and contents are what was recorded, with what they would write; and
    what is wrong with the others."""
    usable: list[Usable] = []
    broken: list[StreamDamaged] = []
    for job in jobs:
        try:
            check_anchored(project.trace, job.agent_id, job.head)
            usable.append((job, patches_of(project, job)))
        except StreamDamaged as damage:
            broken.append(damage)
    return usable, broken


def _accept_one(
    project: Project,
    stream: RunStream,
    job: JobView,
    patches: Sequence[FilePatch],
    recheck: Recheck,
) -> list[dict[str, Any]]:
    """Merge, verify, journal, record, exchange. Returns the conflicts; empty if accepted."""
    prepared = prepare_changes(project.root, patches)
    if prepared.conflicts:
        prepared = merged_with_others(project, patches)
    before = objections(job, patches, prepared, recheck, users_tree(project))
    if before:
        return refused(project, stream, job, details(job.node_id, before))
    recheck.notes += [f"{write.path}: deleted" for write in prepared.writes if write.result is None]
    failed = land(
        project,
        stream,
        job.node_id,
        prepared,
        verdict_on(job, "accepted"),
        verdict_on(job, "conflict"),
    )
    return details(job.node_id, failed)


def refused(
    project: Project, stream: RunStream, job: JobView, found: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Record the conflict; what was found."""
    stream.append(verdict_on(job, "conflict", detail=project.redact.clean(found)))
    return found
