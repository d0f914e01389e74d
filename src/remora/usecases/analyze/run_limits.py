"""Limits of time and of requests to models, and handling of signals that stop a run."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from remora.agents.job import AgentResult, Job
from remora.agents.loop.turn_counts import sent_tokens
from remora.errors import UsageError
from remora.memory.events import Event, ModelRequest
from remora.models.protocol import Model
from remora.runs.execution.run import RunObserver, require_positive
from remora.runs.planning.plan import Plan
from remora.statuses import INTERRUPTED

PLANNING_S = 30.0
"""Minimum seconds for planning under a time limit."""


class _OutOfTime(BaseException):
    """Raised in the main thread when the time is up. It is not caught by `except Exception`."""


@contextmanager
def planned_within(seconds: float | None) -> Iterator[None]:
    """Raise UsageError if the block takes longer than its time limit.

    The limit is `seconds`, but at least PLANNING_S. If `seconds` is None, there is no limit.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise _OutOfTime

    seconds = max(seconds, PLANNING_S)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OutOfTime:
        hint = "use fewer files, a smaller folder or a longer --max-time"
        message = f"planning took longer than {seconds:g} s (--max-time)"
        raise UsageError(message, hint=hint) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class RunBudget:
    """Limits of a run: seconds, requests to models, and tokens of their prompts.

    A limit of None means that there is none. A request that would exceed a limit is recorded, but
    not sent. Raises UsageError if a limit of requests or tokens is less than 1.
    """

    def __init__(
        self,
        *,
        seconds: float | None = None,
        requests: int | None = None,
        tokens: int | None = None,
    ) -> None:
        require_positive(max_requests=requests, max_tokens=tokens)
        self.seconds = seconds
        self.spent = ""
        """The limit that was reached, or an empty string."""
        self._limits = {"requests": requests, "tokens": tokens}
        self._used = {"requests": 0, "tokens": 0}
        self._cancel: Callable[[], object] = lambda: None

    def watch(self, observer: RunObserver) -> RunObserver:
        """Return an observer that counts the requests of a run and passes everything on."""
        return _Counting(observer, self)

    def count(self, requests: int, tokens: int) -> None:
        """Count requests, and stop the work if a limit is exceeded."""
        self._used["requests"] += requests
        self._used["tokens"] += tokens
        for name, most in self._limits.items():
            if most is not None and self._used[name] > most and not self.spent:
                self.spent = f"stopped after {most:,} {name} (--max-{name})"
                self._cancel()

    def stop_with(self, cancel: Callable[[], object]) -> None:
        """Call `cancel` when a limit is exceeded."""
        self._cancel = cancel
        if self.spent:
            cancel()

    def stop(self, why: str) -> None:
        """Stop the work, also before it begins. May be called in any thread."""
        self.spent = self.spent or why
        with suppress(RuntimeError):  # the loop of the work was closed just now
            self._cancel()


class _Counting:
    """Counts the requests in the events of jobs, or of jobs that ran elsewhere, at their end."""

    def __init__(self, inner: RunObserver, budget: RunBudget) -> None:
        self._inner = inner
        self._budget = budget
        self._seen: set[str] = set()

    def planned(self, run_id: str, plan: Plan) -> None:
        self._inner.planned(run_id, plan)

    def began(self, job: Job) -> None:
        self._inner.began(job)

    def event(self, job: Job, event: Event) -> None:
        self._seen.add(job.agent_id)
        self._inner.event(job, event)
        if event.type == ModelRequest.type:
            self._budget.count(1, sent_tokens(event))

    def ended(self, job: Job, result: AgentResult) -> None:
        self._inner.ended(job, result)
        if job.agent_id not in self._seen:
            self._budget.count(result.counts.requests, result.counts.sent_tokens)
        self._seen.discard(job.agent_id)

    def judging(self, gate: str) -> None:
        self._inner.judging(gate)


def run_to_end(
    work: Callable[[], Awaitable[None]], models: Iterable[Model], budget: RunBudget
) -> str:
    """Run `work`, then close the models.

    Returns the reason if the work was stopped early, and an empty string otherwise.
    """

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:  # asyncio.run does the same for SIGINT, if that is not ignored
            loop = asyncio.get_running_loop()
            budget.stop_with(partial(loop.call_soon_threadsafe, task.cancel))
            with suppress(ValueError, RuntimeError):  # not the main thread: no signal comes here
                loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            async with asyncio.timeout(budget.seconds):
                await work()
        finally:
            budget.stop_with(lambda: None)
            for model in models:
                await model.aclose()

    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return budget.spent or INTERRUPTED
    except TimeoutError:
        return f"stopped after {budget.seconds:g} s (--max-time)"
    return ""
