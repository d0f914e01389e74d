"""Expected duration of a plan, from measurements of each operation."""

from collections import Counter
from collections.abc import Collection

from remora.operations.base import Operations
from remora.runs.planning.plan import Plan

_BY_RULES = 0.2
"""Seconds for a job of a project's own agent, on two idle cores with two jobs at a time."""
_START = 1.0
"""Seconds until the first job works."""


def expected_seconds(plan: Plan, operations: Operations, driven: Collection[str]) -> float | None:
    """Return the expected seconds of all jobs, of which two run at a time.

    Returns None if a model decides in some of them, which are those of the operations in `driven`.
    """
    known = {operation.name: operation for operation in operations.all}
    jobs, amounts = Counter[str](), Counter[str]()
    for job in plan.jobs:
        jobs[job.operation] += 1
        amounts[job.operation] += plan.amounts[job.agent_id]
    total = _START if plan.jobs else 0.0
    for name, number in jobs.items():
        operation = known.get(name)
        if name in driven:
            return None
        if operation is None:
            total += number * _BY_RULES
        else:
            total += number * operation.job_seconds + amounts[name] * operation.unit_seconds
            total += operation.shared_seconds
    return round(total, 1)
