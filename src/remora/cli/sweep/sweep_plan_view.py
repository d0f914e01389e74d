"""Shows the plan of a sweep: its repositories, jobs and expected duration."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remora.cli.app.output import table, wrapped
from remora.cli.views.plan_view import about, duration_text
from remora.text import count, some_of
from remora.usecases.sweep.repository_plan import FAILED, UNCHANGED, RepositoryPlan

_NAMED = 5
"""Maximum number of repositories listed in a line."""


def sweep_plan_document(
    run_id: str, plans: Sequence[RepositoryPlan], planning_seconds: float
) -> dict[str, Any]:
    """Return the document printed by `sweep run --dry-run --json`."""
    return {
        "run_id": run_id,
        "repositories": [msgspec.to_builtins(plan) for plan in plans],
        "totals": {
            "repositories": len(plans),
            "states": dict(Counter(plan.state for plan in plans)),
            "jobs": dict(_jobs(plans)),
            "with_model": sum(plan.with_model for plan in plans),
            "planning_seconds": round(planning_seconds, 1),
            "seconds": _seconds(plans),
        },
    }


def plan_lines(plans: Sequence[RepositoryPlan], planning_seconds: float) -> Iterator[str]:
    """Yield a table of the repositories, and the size of the whole sweep.

    `planning_seconds` is the time that planning took.
    """
    operations = [*_jobs(plans)]
    rows = [
        (
            plan.name,
            plan.state,
            *(plan.jobs.get(operation, 0) for operation in operations),
            plan.with_model,
            _duration(plan),
        )
        for plan in plans
    ]
    yield from table(("REPOSITORY", "PLAN", *map(str.upper, operations), "MODEL", "TIME"), rows)
    yield ""
    failed = [plan for plan in plans if plan.state == FAILED]
    errors = [f"{plan.name}: {plan.error}{f' ({plan.hint})' * bool(plan.hint)}" for plan in failed]
    planning = f", after {about(planning_seconds)} of planning"
    size = sweep_size(plans) + planning * any(plan.job_count for plan in plans)
    for text in (*errors, *plan_notes(plans), size):
        yield from wrapped(text)


def plan_notes(plans: Sequence[RepositoryPlan]) -> Iterator[str]:
    """Yield notes about the plans.

    No job is planned for operations without an environment and for unreadable files. Uncommitted
    changes are part of what is planned.
    """
    edited = [plan.name for plan in plans if plan.uncommitted]
    if edited:
        yield (
            f"uncommitted changes in {some_of(edited, _NAMED)}: jobs work on the files as "
            "they are, and the whole project is planned"
        )
    nodes: Counter[str] = Counter()
    for plan in plans:
        nodes.update(plan.left_out)
    for operation, number in nodes.items():
        where = sum(operation in plan.left_out for plan in plans)
        yield (
            f"not planned: {operation}: {count(number, 'function')} in "
            f"{count(where, 'repository', 'repositories')} without an environment; "
            "create .venv there, or set `python` in remora.yaml"
        )
    with_unreadable = [plan for plan in plans if plan.unreadable]
    if with_unreadable:
        files = count(sum(plan.unreadable for plan in with_unreadable), "file")
        example = f"`remora analyze --dry-run --root {with_unreadable[0].root}`"
        yield f"not checked: {files} that cannot be parsed; {example} lists them"


def plan_note(plan: RepositoryPlan, number: int, of: int) -> str:
    """Return a line that says that a repository has been planned."""
    what = count(plan.job_count, "job") if plan.job_count else plan.state
    what += ", with uncommitted changes" if plan.uncommitted else ""
    return f"[{number:>{len(str(of))}}/{of}] planned {plan.name}: {what}"


def sweep_size(plans: Sequence[RepositoryPlan]) -> str:
    """Return the size of a sweep.

    For example `213 jobs (lint 120, docstring 93) in 5 repositories, 12 ask a model: about 6 minutes
    on two cores`.
    """
    jobs = _jobs(plans)
    if not jobs:
        failed = sum(plan.state == FAILED for plan in plans)
        others = count(len(plans) - failed, "repository", "repositories")
        return f"nothing to do in {others}" + (f"; {failed} failed" if failed else "")
    named = ", ".join(f"{operation} {number:,}" for operation, number in jobs.items())
    having = sum(plan.job_count > 0 for plan in plans)
    asking = sum(plan.with_model for plan in plans)
    where = count(having, "repository", "repositories")
    model = f"{asking:,} ask a model" if asking else "none asks a model"
    took = duration_text(_seconds(plans))
    return f"{count(jobs.total(), 'job')} ({named}) in {where}, {model}: {took}"


def _jobs(plans: Sequence[RepositoryPlan]) -> Counter[str]:
    found: Counter[str] = Counter()
    for plan in plans:
        found.update(plan.jobs)
    return found


def _seconds(plans: Sequence[RepositoryPlan]) -> float | None:
    """Return the expected seconds of all jobs, or None if those of a repository are unknown."""
    found = [plan.seconds for plan in plans if plan.job_count]
    known = [each for each in found if each is not None]
    return round(sum(known), 1) if len(known) == len(found) else None


def _duration(plan: RepositoryPlan) -> str:
    if not plan.job_count:
        return f"since {plan.since}" if plan.state == UNCHANGED else ""
    return about(plan.seconds) if plan.seconds is not None else ""
