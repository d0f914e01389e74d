"""Expected durations of planned jobs."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from remora.operations.base import Operations

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan

_BY_RULES = 0.2
_BY_EMBEDDED_MODEL = 1.0
"""Seconds for a job of a project's own agent, on two idle cores with two jobs at a time."""


def asks_server(name: str, operations: Operations, provider: str) -> bool:
    """Return True if the speed of the jobs of an operation depends on a model server."""
    known = {each.name: each for each in operations.all}
    return provider == "openai" and (name not in known or known[name].asks_writers)


def seconds_without_server(
    plan: "Plan", operations: Operations, provider: str
) -> Mapping[str, float]:
    """Return the expected seconds of each job by agent ID, as if no model server was asked.

    Two jobs run at a time, so the sum is the duration of the run. `provider` is `embedded`, `openai`
    or `none`.
    """
    known = {each.name: each for each in operations.all}
    own = _BY_EMBEDDED_MODEL if provider == "embedded" else _BY_RULES
    found: dict[str, float] = {}
    units: Counter[str] = Counter()
    first: dict[str, str] = {}
    for job in plan.jobs:
        operation, amount = known.get(job.operation), plan.amounts[job.agent_id]
        found[job.agent_id] = own if operation is None else operation.job_seconds
        if operation is not None and operation.shared_seconds:
            units[job.operation] += amount
            first.setdefault(job.operation, job.agent_id)
        elif operation is not None:
            found[job.agent_id] += operation.unit_seconds * amount
    for name, agent_id in first.items():
        operation = known[name]
        found[agent_id] += operation.shared_seconds + operation.unit_seconds * units[name]
    return found


def jobs_with_model(plan: "Plan", operations: Operations, provider: str) -> int:
    """Return how many jobs ask a model. `provider` is `embedded`, `openai` or `none`."""
    return sum(asks_model(job.operation, operations, provider) for job in plan.jobs)


def asks_model(name: str, operations: Operations, provider: str) -> bool:
    """Return True if the jobs of an operation may ask a model."""
    by_rules = {each.name for each in operations.all if each.decides_by_rules}
    return provider != "none" and (name not in by_rules or asks_server(name, operations, provider))
