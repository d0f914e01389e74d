"""Implements `sweep run`: plans several repositories, asks once, and runs the jobs."""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import click

from remora.agents.job import AgentResult, Job
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import invocation_of
from remora.cli.app.run_options import RunOptions
from remora.cli.app.working import working
from remora.cli.sweep.show_sweep import refuse_root
from remora.cli.sweep.sweep_plan_view import plan_lines, plan_note, plan_notes, sweep_plan_document
from remora.cli.sweep.sweep_view import sweep_lines
from remora.cli.views.progress import run_progress
from remora.cli.views.run_counts import RunCounts
from remora.config.repository_list import ListedRepository, read_repository_list
from remora.errors import OutsideError, RemoraError, UsageError
from remora.memory.events import Event
from remora.runs.execution.run import RunObserver
from remora.runs.planning.plan import MAX_JOBS, Plan
from remora.runs.planning.run_request import RunRequest
from remora.statuses import status_text
from remora.text import count, escape_line
from remora.usecases.analyze.prepare_run import new_run_id
from remora.usecases.analyze.run_limits import planning_limit, planning_timeout, run_to_end
from remora.usecases.sweep.earlier_sweep import recorded_flags, recorded_request
from remora.usecases.sweep.plan_processes import plan_all
from remora.usecases.sweep.repository_plan import FAILED, PlanTask, RepositoryPlan
from remora.usecases.sweep.run_repositories import RepositoryEnd, SweepRun
from remora.usecases.sweep.sweep_records import own_settings, read_sweep, sweep_at
from remora.usecases.sweep.sweep_summary import summarize


class SweepProgress:
    """Counts the jobs of all repositories, and prints a line for each repository that ends."""

    def __init__(self, counts: RunCounts, repositories: int, *, prints: bool) -> None:
        self._counts = counts
        self._repositories = repositories
        self._prints = prints
        self._ended = 0
        self._jobs: dict[str, dict[str, int]] = {}

    def of(self, name: str) -> RunObserver:
        """Return the observer for a repository."""
        self._jobs[name] = {}
        return _RepositoryObserver(self._counts, self._jobs[name], name)

    def repository_ended(self, end: RepositoryEnd) -> None:
        self._ended += 1
        self._counts.judging("")
        if not self._prints:
            return
        states = self._jobs[end.name]
        parts = [f"{number:,} {status_text(state)}" for state, number in states.items()]
        if end.error is not None:
            parts.append(end.error.message)
        head = f"[{self._ended:>{len(str(self._repositories))}}/{self._repositories}] {end.name}"
        text = escape_line(f"{head}: {', '.join(parts) or 'already finished'}")
        click.echo(text, file=sys.stderr)  # which the display replaces


class _RepositoryObserver:
    """Passes what happens in a repository to the counts of the sweep."""

    def __init__(self, counts: RunCounts, states: dict[str, int], name: str) -> None:
        self._counts, self._name = counts, name
        self._states = states

    def planned(self, run_id: str, plan: Plan) -> None:  # noqa: ARG002 (signature of RunObserver)
        self._counts.expect(self._counts.jobs + len(plan.jobs))

    def began(self, job: Job) -> None:
        self._counts.began(job)

    def event(self, job: Job, event: Event) -> None:
        self._counts.event(job, event)

    def ended(self, job: Job, result: AgentResult) -> None:
        self._counts.ended(job, result)
        self._states[result.status] = self._states.get(result.status, 0) + 1

    def judging(self, gate: str) -> None:
        self._counts.judging(f"{gate} in {self._name}")


def start_sweep(options: Options, file: Path, run: RunOptions, *, full: bool) -> int:
    """Plan all repositories in `file` and run their jobs. Return the exit code."""
    refuse_root(options)
    repositories = read_repository_list(file)
    run_id = new_run_id()
    tasks = _tasks(run, repositories, run.request, run_id, full=full, records=not run.dry_run)
    began = time.monotonic()
    plans = _plan(options, file, run, tasks, run_id)
    seconds = time.monotonic() - began
    if run.dry_run:
        emit(options, sweep_plan_document(run_id, plans, seconds), plan_lines(plans, seconds))
        return 1 if any(plan.state == FAILED for plan in plans) else 0
    if not any(plan.job_count for plan in plans):
        note(options, *plan_notes(plans))
        return _print(options, file, run_id, plans)
    if not options.quiet:
        click.echo("\n".join(plan_lines(plans, seconds)), err=True)
    _confirm(file, run, sum(plan.job_count for plan in plans), run_id)
    return _run(options, file, run, run_id, plans)


def resume_sweep(options: Options, file: Path, run: RunOptions, name: str) -> int:
    """Plan the repositories that were not planned, and finish the run in all. Return the exit code."""
    refuse_root(options)
    repositories = read_repository_list(file)
    invocation = invocation_of(options, run.flags)
    sweep = read_sweep(invocation, repositories, name)
    done = {name for name, _, _ in sweep.current()}
    recorded, run_id = own_settings(invocation, sweep, trusted=run.trust_run), sweep.run_id
    left = [each for each in repositories if each.name not in done]
    given = {key: value for key, value in run.flags.items() if value is not None}
    run = replace(run, flags={**recorded_flags(recorded["flags"]), **given})
    request = recorded_request(recorded)
    full = recorded.get("full", False)
    tasks = _tasks(run, left, request, run_id, full=full, records=True)
    plans = _plan(options, file, run, tasks, run_id)
    return _run(options, file, run, run_id, plans)


def _tasks(
    run: RunOptions,
    repositories: Sequence[ListedRepository],
    request: RunRequest,
    run_id: str,
    *,
    full: bool,
    records: bool,
) -> list[PlanTask]:
    request = replace(request, engine=run.request.engine)
    return [
        PlanTask(
            run_id=run_id,
            repository=each,
            request=request,
            flags=run.flags,
            records=records,
            full=full,
        )
        for each in repositories
    ]


def _plan(
    options: Options, file: Path, run: RunOptions, tasks: Sequence[PlanTask], run_id: str
) -> list[RepositoryPlan]:
    """Plan the repositories, and return the plans in the order of the list.

    Raises UsageError if this takes longer than --max-time.
    """
    found: dict[str, RepositoryPlan] = {}
    limit = None if run.max_time is None else planning_limit(run.max_time)

    async def plan() -> None:
        async with asyncio.timeout(limit), aclosing(plan_all(tasks)) as plans:
            async for each in plans:
                found[each.name] = each
                note(options, plan_note(each, len(found), len(tasks)))

    def resume_hint() -> str:
        recorded = found and any(task.records for task in tasks)
        return f"resume with `{_resume_command(file, run_id)}`" if recorded else ""

    try:
        with working(options, "planning"):
            asyncio.run(plan())
    except KeyboardInterrupt:
        if hint := resume_hint():
            note(options, hint)
        raise
    except TimeoutError:
        hint = resume_hint() or "use fewer repositories or a longer --max-time"
        raise planning_timeout(limit or 0.0, hint) from None
    return [found[task.repository.name] for task in tasks]


def _confirm(file: Path, run: RunOptions, jobs: int, run_id: str) -> None:
    """Ask before many jobs are run. Raises UsageError without a terminal."""
    if jobs <= MAX_JOBS or run.request.yes:
        return
    command = _resume_command(file, run_id)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{count(jobs, 'job')}: exceeds the limit of {MAX_JOBS} jobs",
            hint=f"the plan is recorded; `{command}` runs it. --yes runs a plan at once",
        )
    if not click.confirm(f"Run {count(jobs, 'job')}?", err=True):
        click.echo(f"nothing was run; `{command}` runs this plan", err=True)
        raise SystemExit(0)


def _run(
    options: Options, file: Path, run: RunOptions, run_id: str, plans: Sequence[RepositoryPlan]
) -> int:
    sweep = read_sweep(invocation_of(options, run.flags), read_repository_list(file), run_id)
    roots = {name: project.root for name, project, _ in sweep.current()}
    sweep_run = SweepRun(
        run_id=run_id,
        roots=roots,
        environ=os.environ,
        flags=run.flags,
        engine=run.request.engine,
        concurrency=run.request.concurrency,
        trusted=run.trust_run,
    )
    ends: list[RepositoryEnd] = []

    async def work(progress: SweepProgress) -> None:
        async for end in sweep_run.finish(lambda name: budget.watch(progress.of(name))):
            ends.append(end)
            progress.repository_ended(end)

    note(options, f"run {run_id}")
    budget = run.budget
    with run_progress(options, jobs=False) as counts:
        progress = SweepProgress(counts, len(roots), prints=not options.quiet)
        stopped = run_to_end(lambda: work(progress), (), budget)
    code = _print(options, file, run_id, plans, ends)
    if stopped:
        note(options, f"{stopped}: all files are unchanged; completed work is recorded")
        note(options, f"resume with `{_resume_command(file, run_id)}`")
        return 130
    return code


def _print(
    options: Options,
    file: Path,
    run_id: str,
    plans: Sequence[RepositoryPlan],
    ends: Sequence[RepositoryEnd] = (),
) -> int:
    """Print the state of the sweep, and return the exit code."""
    errors: dict[str, RemoraError] = {
        plan.name: OutsideError(plan.error, hint=plan.hint) for plan in plans if plan.error
    }
    errors |= {end.name: end.error for end in ends if end.error is not None}
    repositories = read_repository_list(file)
    sweep = sweep_at(invocation_of(options), repositories, run_id)
    summary = summarize(sweep, errors)
    emit(options, summary.document(), sweep_lines(file, summary, heading=False))
    if not any(plan.job_count for plan in plans) and not ends:
        note(options, "no job was run")
    return 1 if any(one.needs_attention for one in summary.repositories) else 0


def _resume_command(file: Path, run_id: str) -> str:
    return f"remora sweep run {file} --resume {run_id}"
