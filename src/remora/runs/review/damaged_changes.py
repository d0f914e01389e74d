"""Damaged change sets, which are named and left out of a review."""

from collections.abc import Iterable, Sequence

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.ids import display_name
from remora.runs.project import Project
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView, check_anchored
from remora.runs.records.results import RunView, select_jobs
from remora.workspaces.apply.transaction import FilePatch

ReadyChange = tuple[JobView, list[FilePatch]]
"""A job that can be accepted, and its patches."""


def split_damaged(
    project: Project, jobs: Iterable[JobView]
) -> tuple[list[ReadyChange], list[StreamDamaged]]:
    """Return the undamaged jobs with their patches, and the errors of the damaged jobs.

    A job is also damaged if the content of one of its files is missing or cannot be read.
    """
    usable: list[ReadyChange] = []
    broken: list[StreamDamaged] = []
    for job in jobs:
        try:
            check_anchored(job)
            usable.append((job, patches_of(project, job)))
        except (DiskError, NotFound, StreamDamaged) as damage:
            name = display_name(job.node_id)
            broken.append(StreamDamaged(f"{name}: {damage.message}", hint=damage.hint))
    return usable, broken


def unreadable_streams(view: RunView, nodes: Sequence[str]) -> list[str]:
    """Return messages about the jobs of `nodes`, or of the whole run, whose streams cannot be read."""
    asked = select_jobs(view, nodes) if nodes else view.jobs
    return [str(job.error) for job in asked if job.damaged]
