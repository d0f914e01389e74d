"""Counts the jobs that a model lost, so that a run does not ask it for nothing."""

import re

from remora.agents.job import AgentResult

MAX_LOST_JOBS = 5
_DETAIL = re.compile(r"""["'].*|\d""", re.DOTALL)
"""Parts that differ between errors with the same cause: numbers, and quoted texts."""


class LostJobs:
    """The jobs in a row that the model of a run lost to the same cause.

    After five, `reason` says why it is not asked again. It is empty until then.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._cause = ""
        self._jobs = 0

    def add(self, result: AgentResult) -> None:
        """Count a job that has ended.

        One that is not lost, and in which a model decided something, ends the row.
        """
        if result.stop_reason == "model_error" and result.error:
            cause = _DETAIL.sub("", result.error)
            self._jobs = self._jobs + 1 if cause == self._cause else 1
            self._cause = cause
            if self._jobs >= MAX_LOST_JOBS and not self.reason:
                self.reason = (
                    f"the model is not asked again in this run: it lost {MAX_LOST_JOBS} jobs in a "
                    f"row to the same cause: {result.error}"
                )
        elif any(result.counts.decided_by.get(decider) for decider in ("model", "escalation")):
            self._jobs = 0
