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
    total = 0.0
    for name, number in jobs.items():
        if _asks_server(name, operations, provider):
            return None
        operation = known.get(name)
        if operation is None:
            total += number * (_BY_EMBEDDED_MODEL if provider == "embedded" else _BY_RULES)
        else:
            total += number * operation.job_seconds + amounts[name] * operation.unit_seconds
            total += operation.shared_seconds
    return round(total, 1)


def jobs_with_model(plan: "Plan", operations: Operations, provider: str) -> int:
    """Return how many jobs may ask a model. `provider` is `embedded`, `openai` or `none`."""
    by_rules = {each.name for each in operations.all if each.decides_by_rules}
    return sum(
        provider != "none"
        and (job.operation not in by_rules or _asks_server(job.operation, operations, provider))
        for job in plan.jobs
    )


def _asks_server(name: str, operations: Operations, provider: str) -> bool:
    """Return True if the speed of the jobs of an operation depends on a model server."""
    known = {each.name: each for each in operations.all}
    return provider == "openai" and (name not in known or known[name].asks_writers)
