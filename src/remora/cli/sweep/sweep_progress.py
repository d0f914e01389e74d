"""Shows the progress of a sweep."""

import sys

import click

from remora.agents.job import AgentResult, Job
from remora.cli.views.run_counts import RunCounts
from remora.memory.events import Event
from remora.runs.execution.run import RunObserver
from remora.runs.planning.plan import Plan
from remora.statuses import status_text
from remora.text import escape_line
from remora.usecases.sweep.run_repositories import RepositoryEnd


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
