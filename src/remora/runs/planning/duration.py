"""Expected duration of planned jobs."""

from collections import Counter
from typing import TYPE_CHECKING

from remora.operations.base import Operations

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan

_BY_RULES = 0.2
_BY_EMBEDDED_MODEL = 1.0
"""Seconds for a job of a project's own agent, on two idle cores with two jobs at a time."""


def expected_seconds(plan: "Plan", operations: Operations, provider: str) -> float | None:
    """Return the expected seconds of all jobs, of which two run at a time.

    Returns None if they depend on the speed of a model server. `provider` is `embedded`, `openai`
    or `none`.
    """
    known = {each.name: each for each in operations.all}
    jobs, amounts = Counter[str](), Counter[str]()
    for job in plan.jobs:
        jobs[job.operation] += 1
        amounts[job.operation] += plan.amounts[job.agent_id]
    if plan.jobs and provider == "openai":
        return None
    total = 0.0
    for name, number in jobs.items():
        operation = known.get(name)
        if operation is None:
            total += number * (_BY_EMBEDDED_MODEL if provider == "embedded" else _BY_RULES)
        else:
            total += number * operation.job_seconds + amounts[name] * operation.unit_seconds
            total += operation.shared_seconds
    return round(total, 1)
