"""Summary of a sweep, read from the streams of its runs but not of its jobs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from remora.errors import RemoraError
from remora.runs.records.run_listing import read_run_line
from remora.statuses import DAMAGED, ENDED, INTERRUPTED, RUNNING, WITH_RESULT, shown_status
from remora.usecases.sweep.sweep_records import RecordedSweep, SweptProject

NOT_STARTED, MISSING, UNREADABLE = "not started", "missing", "unreadable"
_REVIEW = ("pending", "accepted", "rejected", "reverted", "conflicts")


class RepositorySummary(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of a sweep.

    `run_id` is null if no run is recorded. It is an earlier run if nothing had changed since.
    `status` is `missing` if the folder does not exist, and `unreadable` if the records cannot be
    opened. `statuses` counts the jobs that have ended, by status.
    """

    name: str
    root: str
    run_id: str | None
    earlier: bool = False
    status: str = NOT_STARTED
    jobs: int = 0
    statuses: Mapping[str, int] = {}
    pending: int = 0
    accepted: int = 0
    rejected: int = 0
    reverted: int = 0
    conflicts: int = 0
    error: str = ""
    hint: str = ""

    @property
    def needs_attention(self) -> bool:
        """Return True if the repository failed, or if jobs failed or have not ended."""
        ended = self.status == ENDED and self.statuses.keys() <= {*WITH_RESULT}
        return bool(self.error) or not ended

    @property
    def is_unreadable(self) -> bool:
        """Return True if the records of the repository cannot be read."""
        return bool(self.error) or self.status == DAMAGED


class SweepSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All repositories of a sweep, in the order of the list."""

    run_id: str
    repositories: tuple[RepositorySummary, ...]

    @property
    def status(self) -> str:
        """The status of the run as a whole."""
        found = {one.status for one in self.repositories}
        return next((s for s in (RUNNING, DAMAGED, INTERRUPTED) if s in found), ENDED)

    def document(self) -> dict[str, Any]:
        """Return the document printed by `sweep show --json`."""
        totals = Counter[str]()
        for one in self.repositories:
            totals.update(one.statuses)
        return {
            "run_id": self.run_id,
            "status": self.status,
            "repositories": [msgspec.to_builtins(one) for one in self.repositories],
            "totals": {
                "repositories": len(self.repositories),
                "jobs": sum(one.jobs for one in self.repositories),
                **totals,
                **{
                    state: sum(getattr(one, state) for one in self.repositories)
                    for state in _REVIEW
                },
            },
        }


def summarize(
    sweep: RecordedSweep, errors: Mapping[str, RemoraError] | None = None
) -> SweepSummary:
    """Return the summary of a sweep.

    `errors` says why repositories failed just now, by name. Errors are not recorded.
    """
    known = errors or {}
    return SweepSummary(
        run_id=sweep.run_id,
        repositories=tuple(_summary(each, known.get(each.name)) for each in sweep.projects),
    )


def _status_without_run(one: SweptProject) -> str:
    if one.error is not None:
        return UNREADABLE
    return MISSING if one.project is None else NOT_STARTED


def _summary(one: SweptProject, error: RemoraError | None) -> RepositorySummary:
    error = error or one.error
    first = RepositorySummary(
        name=one.name,
        root=str(one.root),
        run_id=one.run_id,
        earlier=one.is_earlier,
        status=_status_without_run(one),
        error="" if error is None else error.message,
        hint="" if error is None else error.hint,
    )
    if one.project is None or one.run_id is None:
        return first
    try:
        read = read_run_line(one.project.trace.existing_run(one.run_id))
    except RemoraError as damage:
        return msgspec.structs.replace(
            first, status=DAMAGED, error=damage.message, hint=damage.hint
        )
    if read is None:
        return first
    line, attempts = read
    ends = [attempts.ends.get(start.agent_id) for start in attempts.starts()]
    return msgspec.structs.replace(
        first,
        status=line.status,
        jobs=line.jobs,
        statuses=dict(Counter(shown_status(end.status) for end in ends if end is not None)),
        **{state: getattr(line, state) for state in _REVIEW},
    )
