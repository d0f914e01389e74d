"""Statuses of jobs and runs, and review states of changes, as events and documents name them."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal

Status = Literal["submitted", "no_change", "failed", "error", "interrupted"]
"""A status as events have it. All documents have `verified` instead of `submitted`."""
SUBMITTED: Final = "submitted"
VERIFIED: Final = "verified"
NO_CHANGE: Final = "no_change"
FAILED: Final = "failed"
ERROR: Final = "error"
INTERRUPTED: Final = "interrupted"
STATUSES = (VERIFIED, NO_CHANGE, FAILED, ERROR, INTERRUPTED)
"""Statuses with which a job ends."""
WITH_RESULT = (VERIFIED, NO_CHANGE)
"""Statuses of jobs that came to a result: a verified change set, or nothing to change."""
WITHOUT_RESULT: tuple[Status, ...] = (FAILED, ERROR, INTERRUPTED)
"""Statuses of jobs that came to no result. They need the user's attention."""
FAILURES: tuple[Status, ...] = (FAILED, ERROR)
"""Statuses of jobs that ended by themselves without a result. A resumed run leaves them out."""
CUT_SHORT: tuple[Status, ...] = (ERROR, INTERRUPTED)
"""Statuses of jobs that have not seen their nodes to the end, so that these are still unchecked."""

PARSED, CHECKED, TESTED = "parsed", "checked", "tested"
"""Proof of a verified change set beside its own checks: nothing, gates, or tests."""
TEST_GATE: Final = "pytest"
"""Name of the gate without which a change set is not tested."""
VALUES_GATE: Final = "values"
"""Name of the gate of annotations, which values of the tests judge."""

RUNNING, ENDED, DAMAGED = "running", "ended", "damaged"
"""Statuses of streams. A stream without an end that is not written any more is `interrupted`."""

PENDING, CONFLICT, STALE = "pending", "conflict", "stale"
ACCEPTED, REJECTED, REVERTED = "accepted", "rejected", "reverted"
RETRIED = "retried"
WITHDRAWN = "withdrawn"
"""The verdict on a change set that is outdated, or that a newer run proposes again."""
TAKEN_OUT = "taken_out"
"""The review state of a change set of which gates left nothing."""
REOPENED = "reopened"
"""The verdict that withdraws the verdict before it."""
UNDECIDED = (PENDING, CONFLICT, STALE)
"""Review states of change sets that can be accepted or rejected."""
DECIDED = (ACCEPTED, REJECTED, REVERTED)
"""Review states that can be undone."""
DISMISSED = (REJECTED, REVERTED, WITHDRAWN, TAKEN_OUT)
"""Review states of change sets that are not wanted."""
DONE = (PENDING, ACCEPTED)
"""Review states of change sets that count as done in totals: they can be written as they are."""
KEPT = (*UNDECIDED, ACCEPTED)
"""Review states of change sets that are written, or may be."""

NOT_STARTED: Final = "not_started"
"""What became of a planned job that no process began."""
RESULTS = (*UNDECIDED, ACCEPTED, *DISMISSED, *WITHOUT_RESULT, NO_CHANGE, NOT_STARTED)
"""Results of jobs in the order of a summary: the review states, or else the statuses."""

NO_MODEL: Final = "none"
"""The value of `model` or of `model.provider` that uses no model, and its name in runs."""


def results_of(states: Iterable[str], planned: int) -> dict[str, int]:
    """Return the numbers of jobs by review state, or else by status, and of those not started."""
    numbers = Counter(states)
    numbers[NOT_STARTED] = planned - numbers.total()
    return {name: numbers[name] for name in RESULTS if numbers[name] > 0}


def shown_status(recorded: str) -> str:
    """Return the word that documents have for a status or a stop reason of an event."""
    return VERIFIED if recorded == SUBMITTED else recorded


def proven_text(status: str, proof: str | None) -> str:
    """Return the status of a job as text: `tested` or `checked` for `verified`."""
    return status_text(status) if status != VERIFIED else TESTED if proof == TESTED else CHECKED


def status_text(status: str) -> str:
    """Return a status as text, such as `no change`."""
    return status.replace("_", " ")
