"""A run that goes, until it is over or somebody stops it; and what is said of it then."""

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from remora.bootstrap.resume_run import Resumable, carry_on
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import again
from remora.cli.views.progress import watching
from remora.cli.views.run_view import run_lines, tried_lines
from remora.errors import NotFound, UsageError
from remora.models.protocol import Model
from remora.runs.project import Project
from remora.runs.records.documents import never_answered
from remora.runs.records.results import read_run, run_document
from remora.sandbox.isolation import best_level, describe_level
from remora.trace.stream.line_builder import utc_now

GOOD = frozenset({"submitted", "no_change"})
"""Statuses that need no attention."""


PLANNING_S = 30.0
"""Seconds that planning may take under a time limit, however short that is."""


class _OutOfTime(BaseException):
    """Raised wherever the main thread is: no handler of errors may take it for one of its own."""


@contextmanager
def planned_within(seconds: float | None) -> Iterator[None]:
    """Raise UsageError if the block takes longer than `seconds` and PLANNING_S; None: no limit."""
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
        raise UsageError(
            f"planning did not end within {seconds:g} s, as --max-time says",
            hint="name fewer files or a smaller folder, or give it more time",
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def to_its_end(
    work: Callable[[], Awaitable[None]], models: Iterable[Model], max_time: float | None = None
) -> str:
    """Do the work and let go of the models; what stopped it before its end, empty if nothing."""

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:  # asyncio.run does the same for SIGINT, where that is not ignored
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            async with asyncio.timeout(max_time):
                await work()
        finally:
            for each in models:
                await each.aclose()

    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return "interrupted"
    except TimeoutError:
        return f"stopped after {max_time:g} s, as --max-time says"
    return ""


def brought_to_its_end(
    options: Options,
    wanted: Resumable,
    models: Mapping[str, Model],
    max_time: float | None = None,
) -> str:
    """Go on with a run, or with some of its agents, and show how that goes; what stopped it."""
    tell_isolation(options)
    with watching(options) as watcher:
        return to_its_end(
            lambda: carry_on(wanted, models, watcher, utc_now), models.values(), max_time
        )


def tell_isolation(options: Options) -> None:
    """Say how subprocesses are held, once per command."""
    note(options, f"subprocesses are {describe_level(best_level())}")


def report(
    options: Options,
    project: Project,
    run_id: str,
    stopped: str = "",
    only: Collection[str] | None = None,
    *,
    announced: bool = False,
) -> int:
    """Say what became of the whole run, or with `only` of these agents; the exit code that tells
    it too. The document is the whole run's. `announced`: the run was named as it began."""
    try:
        view = read_run(project, run_id)
    except NotFound:  # stopped before the run had begun
        note(options, stopped)
        raise KeyboardInterrupt from None
    document = run_document(project, view)
    jobs = [job for job in document["jobs"] if only is None or job["agent_id"] in only]
    if only is None:
        # who reads both has the run's name and model from when it began
        known = announced and sys.stdout.isatty() and sys.stderr.isatty() and not options.quiet
        lines = run_lines(options, project, view, document, heading=not known)
        emit(options, document, lines)
    else:
        emit(options, document, tried_lines(options, project, view, jobs))
    if stopped:
        note(options, f"{stopped}: nothing of yours was touched; what was done is recorded")
        if options.json or only is not None or not sys.stdout.isatty():  # else it stands above
            resume = again(options, project.root, "analyze", "--resume", run_id)
            note(options, f"`{resume}` does the rest")
        return 130
    if {job["status"] for job in jobs} <= GOOD:
        return 0
    return 3 if never_answered(project, view) else 1
