"""When a run stops asking a model that loses its jobs."""

import pytest

from remora.agents.job import AgentResult, Counts, StopReason
from remora.agents.loop.lost_jobs import MAX_LOST_JOBS, LostJobs


def job(
    error: str | None = "3 invalid calls: 'one'", *, large: bool = False, **by: int
) -> AgentResult:
    reason: StopReason = "packet_too_large" if large else "model_error" if error else "submitted"
    return AgentResult(
        status="submitted", stop_reason=reason, error=error, counts=Counts(decided_by=by)
    )


LOST, DONE = job(), job(None)
FEW = [LOST] * (MAX_LOST_JOBS - 1)


@pytest.mark.parametrize(
    ("jobs", "is_over"),
    [
        ([*FEW, LOST], True),
        ([*FEW, job('4 invalid calls: "two"')], True),
        ([*FEW, DONE, LOST], True),
        (FEW, False),
        ([*FEW, job("the server returned status 500"), LOST], False),
        ([job(model=1)] * MAX_LOST_JOBS, True),
        ([*FEW, job(None, model=1), LOST], False),
        ([*FEW, job(None, escalation=1), LOST], False),
        ([*FEW, *[job("too large", large=True)] * 9], False),
    ],
)
def test_five_jobs_in_a_row_without_a_decision_of_a_model(
    jobs: list[AgentResult], is_over: bool
) -> None:
    lost = LostJobs()
    for result in jobs:
        lost.add(result)
    assert bool(lost.reason) is is_over


def test_the_reason_names_the_cause_once() -> None:
    lost = LostJobs()
    for _ in range(3 * MAX_LOST_JOBS):
        lost.add(job(lost.reason or "prose"))
    assert lost.reason.endswith("it lost 5 jobs in a row to the same cause: prose")
    assert lost.reason.count("is not asked again") == 1
