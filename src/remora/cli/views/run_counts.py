"""Counts the jobs, turns, tokens and findings of a run in progress."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from remora.agents.job import AgentResult, Job
from remora.agents.loop.stop_rules import sent_tokens
from remora.memory.events import Event, ModelRequest
from remora.operations.base import Codes, is_lint_code
from remora.runs.records.findings import fixed, known_findings

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan


_SHARE = 0.05
"""Share of the expected work that must be done after the first job before the time left is shown."""


class RunCounts:
    """An observer that counts what happens in a run. It does not print anything."""

    def __init__(self) -> None:
        self.jobs = 0
        self.done = 0
        self.turns = 0
        self.tokens = 0
        self.fixed = 0
        self.written = 0
        self.working: dict[str, Job] = {}
        self._findings: dict[str, tuple[Codes, Codes]] = {}
        self._seconds: Mapping[str, float] = {}
        self._every = 0.0
        """The expected seconds of all jobs."""
        self._first: tuple[float, float] | None = None
        """The time at which the first job ended, and the expected seconds done until then."""
        self._ended = 0.0
        """The expected seconds of the jobs that have ended."""
        self._left: tuple[float, float] | None = None
        """The expected seconds, and the time at which they were computed."""

    def planned(self, run_id: str, plan: "Plan") -> None:  # noqa: ARG002 (signature of RunObserver)
        self.expect(len(plan.jobs))
        self._seconds = plan.seconds or dict.fromkeys((job.agent_id for job in plan.jobs), 1.0)
        self._every = sum(self._seconds.values())

    def expect(self, jobs: int) -> None:
        """Set the number of jobs."""
        self.jobs = jobs

    def began(self, job: Job) -> None:
        self.working[job.agent_id] = job

    def event(self, job: Job, event: Event) -> None:
        """Count turns, tokens sent to the model, and findings reported by scripts."""
        if event.type == "turn_start":
            self.turns += 1
        elif event.type == ModelRequest.type:
            self.tokens += sent_tokens(event)
        left = known_findings(event)
        if left is not None:
            first, _ = self._findings.get(job.agent_id, (left, left))
            self._findings[job.agent_id] = first, left

    def ended(self, job: Job, result: AgentResult) -> None:
        """Count a finished job. Findings count as fixed only if the changes are verified."""
        self.done += 1
        self._ended += self._seconds.get(job.agent_id, 0.0)
        self.working.pop(job.agent_id, None)
        now = time.monotonic()
        left = self._corrected(now)
        self._left = (left, now) if left is not None else None
        for code, number in self.fixed_by(job, result)[0].items():
            self.fixed += number if is_lint_code(code) else 0
            self.written += 0 if is_lint_code(code) else number

    def seconds_left(self) -> float | None:
        """Return the expected seconds until the run ends, or None if too little has been done.

        The estimate is corrected when a job ends, and counts down until then.
        """
        if self._left is None:
            return None
        left, since = self._left
        return max(0.0, left - (time.monotonic() - since))

    def _corrected(self, now: float) -> float | None:
        """Return the expected seconds from now on, or None if too few jobs have ended.

        Only the measured speed counts: the expected one may be far off, as on a loaded machine. It
        is that since the first job has ended, because that job also pays for starting tools and
        filling caches. Running jobs count as half done.
        """
        working = sum(self._seconds.get(each, 0.0) for each in self.working)
        total = self._ended + working / 2
        if self._first is None:
            self._first = now, total
            return None
        since, before = self._first
        if total <= before or total - before < self._every * _SHARE:
            return None
        return (now - since) / (total - before) * (self._every - total)

    def fixed_by(self, job: Job, result: AgentResult) -> tuple[Codes, Codes]:
        """Return the numbers of fixed and of remaining findings of a job, both keyed by code.

        Findings count as fixed only if the changes are verified.
        """
        before, after = self._findings.get(job.agent_id, ({}, {}))
        return (fixed(before, after), after) if result.status == "submitted" else ({}, before)
