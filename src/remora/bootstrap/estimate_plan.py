"""Estimates what a plan needs, from the rates that earlier runs of this user measured."""

from collections.abc import Sequence
from math import ceil

from remora.agents.definition.agent import Agent
from remora.models.embedded import weights
from remora.models.model_settings import addresses_in
from remora.runs.execution.engine import RemoteWorkers, shard_size
from remora.runs.execution.run import concurrency_of
from remora.runs.planning.duration import asks_model
from remora.runs.planning.estimate import Estimate
from remora.runs.planning.measured_estimate import PlannedSpeed, estimate_plan
from remora.runs.planning.measured_rates import rates_of, read_rates, server_text
from remora.runs.planning.plan import Plan
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project


def estimate_from_rates(
    project: Project,
    request: RunRequest,
    plan: Plan,
    agents: Sequence[Agent],
    *,
    provider: str,
    workers: RemoteWorkers | None,
) -> Estimate:
    """Return what the jobs of a plan are expected to need.

    `provider` is `embedded`, `openai` or `none`. `workers` is None for jobs in this process.
    """
    settings = project.config.model
    known = read_rates(project.state.parents[1])
    server = server_text(addresses_in(settings)) if provider == "openai" else ""
    rates = {}
    for agent in agents:
        operation = agent.definition.operation
        model = agent.definition.model or settings.name
        if provider == "embedded" and asks_model(operation, project.operations, provider):
            model = model or weights.MODEL
        rates[operation] = rates_of(known, operation, server, model, request.engine)
    number = None if workers is None else _busy(workers.count(), len(plan.jobs))
    speed = PlannedSpeed(concurrency_of(request, settings), number)
    return estimate_plan(plan, project.operations, provider, rates, speed)


def _busy(workers: int | None, jobs: int) -> int | None:
    """Return the number of workers that get a shard, or None if it is unknown."""
    return None if workers is None else min(workers, ceil(jobs / shard_size(jobs)))
