"""Counts the jobs, turns, tokens and findings of a run in progress."""

from typing import TYPE_CHECKING

from remora.agents.job import AgentResult, Job
from remora.agents.loop.stop_rules import sent_tokens
from remora.memory.events import Event, ModelRequest
from remora.operations.base import Codes, is_lint_code
from remora.runs.records.findings import fixed, known_findings
from remora.statuses import VERIFIED

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan


class RunCounts:
    """An observer that counts what happens in a run. It does not print anything."""

    def __init__(self) -> None:
        self.jobs = 0
        self.done = 0
        self.requests = 0
        self.tokens = 0
        self.fixed = 0
        self.written = 0
        self.gate = ""
        self.working: dict[str, Job] = {}
        self._findings: dict[str, tuple[Codes, Codes]] = {}

    def planned(self, run_id: str, plan: "Plan") -> None:  # noqa: ARG002 (signature of RunObserver)
        self.expect(len(plan.jobs))

    def expect(self, jobs: int) -> None:
        """Set the number of jobs."""
        self.jobs = jobs

    def began(self, job: Job) -> None:
        self.working[job.agent_id] = job

    def event(self, job: Job, event: Event) -> None:
        """Count requests and tokens sent to the model, and findings reported by scripts."""
        if event.type == ModelRequest.type:
            self.requests += 1
            self.tokens += sent_tokens(event)
        left = known_findings(event)
        if left is not None:
            first, _ = self._findings.get(job.agent_id, (left, left))
            self._findings[job.agent_id] = first, left

    def ended(self, job: Job, result: AgentResult) -> None:
        """Count a finished job. Findings count as fixed only if the changes are verified."""
        self.done += 1
        self.working.pop(job.agent_id, None)
        for code, number in self.fixed_by(job, result)[0].items():
            self.fixed += number if is_lint_code(code) else 0
            self.written += 0 if is_lint_code(code) else number

    def judging(self, gate: str) -> None:
        """Set the check of the project that judges the changes, or "" if none does."""
        self.gate = gate and f"checking the project: {gate}"

    def fixed_by(self, job: Job, result: AgentResult) -> tuple[Codes, Codes]:
        """Return the numbers of fixed and of remaining findings of a job, both keyed by code.

        Findings count as fixed only if the changes are verified.
        """
        before, after = self._findings.get(job.agent_id, ({}, {}))
        return (fixed(before, after), after) if result.status == VERIFIED else ({}, before)
