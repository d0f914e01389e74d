"""The planning of one repository of a sweep: its request, and its result."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.config.repository_list import ListedRepository
from remora.runs.planning.run_request import RunRequest

PLANNED, NOTHING, UNCHANGED, FAILED = "planned", "nothing to do", "unchanged", "failed"


class PlanTask(msgspec.Struct, frozen=True, kw_only=True):
    """A repository to plan.

    `flags` contains the settings that options override. The plan is recorded as the run `run_id` if
    `records` is true. If `full` is true, nodes that have not changed since an earlier sweep are also
    planned.
    """

    run_id: str
    repository: ListedRepository
    request: RunRequest
    flags: Mapping[str, Any]
    records: bool
    full: bool


class RepositoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a repository, without its jobs.

    `left_out` contains the number of nodes that are left for lack of an environment, by operation,
    and `unreadable` the number of files that agents cannot work on. `uncommitted` is the number of
    changed and untracked files and folders; if there are any, the jobs work on the files as they
    are, and `commit` is None.

    `jobs` counts them by operation, and `with_model` those that ask a model. `seconds` is their
    expected duration, or None if it depends on a model server. If only nodes that have
    changed were planned, or if nothing has changed, `since` is the earlier run. `error` and `hint`
    say why planning failed.
    """

    name: str
    root: str
    state: str
    commit: str | None = None
    uncommitted: int = 0
    nodes: int = 0
    jobs: Mapping[str, int] = {}
    findings: int = 0
    left_out: Mapping[str, int] = {}
    unreadable: int = 0
    with_model: int = 0
    seconds: float | None = 0.0
    since: str = ""
    error: str = ""
    hint: str = ""

    @property
    def job_count(self) -> int:
        """The number of jobs of all operations."""
        return sum(self.jobs.values())
