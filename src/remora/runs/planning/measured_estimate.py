"""Estimates of plans, from measured rates where there are any."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from remora.operations.base import Operations
from remora.runs.planning.duration import asks_model, asks_server, seconds_without_server
from remora.runs.planning.estimate import Estimate, add_estimates
from remora.runs.planning.measured_rates import Rate
from remora.runs.planning.plan import Plan

_CONSTANTS_JOBS = 3
"""The constants of an operation count as much as this number of measured jobs."""
_AT_ONCE = 2
"""The constants are times of two jobs that run at a time."""
_UNKNOWN = Estimate(decisions=None, prompt_tokens=None, answer_tokens=None, seconds=None)


class PlannedSpeed(NamedTuple):
    """How many jobs run at a time in a worker, and the number of workers.

    `workers` is None for jobs in this process, and 0 if the number is unknown.
    """

    concurrency: int
    workers: int | None = None


def estimate_plan(
    plan: Plan,
    operations: Operations,
    provider: str,
    rates: Mapping[str, Sequence[Rate]],
    speed: PlannedSpeed,
) -> Estimate:
    """Return what a plan is expected to need.

    `rates` has the measured rates of each planned operation, with the model of its agent. A model
    server is not expected to answer more at a time than was measured, with however many workers.
    """
    alone = _seconds_by_operation(plan, operations, provider)
    parts: dict[str, Estimate] = {}
    for name, number in Counter(job.operation for job in plan.jobs).items():
        known, asks = rates.get(name, ()), asks_server(name, operations, provider)
        constant = None if asks else _from_constants(alone[name], speed)
        if known:
            parts[name] = _from_rates(number, known, speed, constant)
        elif asks_model(name, operations, provider):
            parts[name] = msgspec.structs.replace(_UNKNOWN, seconds=constant)
        else:
            parts[name] = Estimate(seconds=constant)
    return msgspec.structs.replace(
        add_estimates(parts.values()),
        measured_jobs=sum(part.measured_jobs for part in parts.values()),
        unmeasured=tuple(name for name, part in parts.items() if part.decisions is None),
        workers=speed.workers,
    )


def _from_rates(
    number: int, rates: Sequence[Rate], speed: PlannedSpeed, constant: float | None
) -> Estimate:
    """Return what `number` jobs need. `constant` is their time by constants, if there are any."""
    measured = sum(rate.jobs for rate in rates)
    each = number / measured
    seconds = shared = 0.0
    for rate in rates:
        asking, working = _at_once(rate, speed)
        seconds += rate.model_seconds / asking + rate.rules_seconds / working
        shared += rate.shared_seconds / len(rates)
    expected = each * seconds + shared
    if constant is not None:
        expected += (constant - expected) * _CONSTANTS_JOBS / (_CONSTANTS_JOBS + measured)
    return Estimate(
        decisions=round(each * sum(rate.decisions for rate in rates)),
        prompt_tokens=round(each * sum(rate.prompt_tokens for rate in rates)),
        answer_tokens=round(each * sum(rate.answer_tokens for rate in rates)),
        seconds=expected,
        measured_jobs=measured,
    )


def _at_once(rate: Rate, speed: PlannedSpeed) -> tuple[float, float]:
    """Return how many jobs are expected to ask at a time, and how many to do other work."""
    measured = max(rate.at_once, 0.01)
    if speed.workers is None:
        here = min(speed.concurrency, measured / max(rate.workers, 1))
        return min(speed.concurrency, measured), here
    if not (speed.workers and rate.workers):  # as many workers as were measured
        return measured, measured
    return measured, measured * speed.workers / rate.workers


def _seconds_by_operation(plan: Plan, operations: Operations, provider: str) -> dict[str, float]:
    each = seconds_without_server(plan, operations, provider)
    found: dict[str, float] = {}
    for job in plan.jobs:
        found[job.operation] = found.get(job.operation, 0.0) + each[job.agent_id]
    return found


def _from_constants(seconds: float, speed: PlannedSpeed) -> float:
    return seconds * max(_AT_ONCE / speed.concurrency, 1) / max(speed.workers or 1, 1)
