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


def job_seconds(plan: "Plan", operations: Operations, provider: str) -> Mapping[str, float] | None:
    """Return the expected seconds of each job, keyed by agent ID.

    Two jobs run at a time, so the sum is the duration of the run. Returns None if jobs depend on
    the speed of a model server. `provider` is `embedded`, `openai` or `none`.
    """
    known = {each.name: each for each in operations.all}
    of_a_server = {name for name, each in known.items() if each.asks_writers}
    if provider == "openai" and any(
        job.operation in of_a_server or job.operation not in known for job in plan.jobs
    ):
        return None
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
    if provider == "none":
        return 0
    known = {each.name: each for each in operations.all}

    def asks(name: str) -> bool:
        if name not in known:
            return True
        operation = known[name]
        return not operation.decides_by_rules or (provider == "openai" and operation.asks_writers)

    return sum(asks(job.operation) for job in plan.jobs)
