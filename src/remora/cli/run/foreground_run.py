"""Runs agents until they finish or are stopped, and prints the results."""

import json
import os
import signal
import sys
from collections.abc import Collection, Mapping

import msgspec

from remora.cli.app.entry import output_lost
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import next_command
from remora.cli.views.progress import run_progress
from remora.cli.views.run_view import attempt_lines, jobs_exit_code, run_lines
from remora.errors import NotFound
from remora.models.protocol import Model
from remora.runs.project import Project
from remora.runs.records.results import RunView, read_run, run_document
from remora.runs.records.run_events import RunResulted
from remora.sandbox.isolation import SAFE_LEVEL, best_level, describe_level
from remora.usecases.analyze.resume_run import Resumable, continue_run


class LinePrinter:
    """Prints lines, each as soon as it is written.

    If the reader closes the pipe, the run is interrupted, and `is_closed` is true.
    """

    def __init__(self) -> None:
        self.is_closed = False

    def __call__(self, line: msgspec.Struct) -> None:
        if self.is_closed:
            return
        try:
            text = json.dumps(msgspec.to_builtins(line))  # ASCII, for any terminal
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except OSError as error:
            self.is_closed = True
            output_lost(error)
            os.kill(os.getpid(), signal.SIGINT)


def run_to_end(
    options: Options,
    wanted: Resumable,
    models: Mapping[str, Model],
) -> str:
    """Continue a run, or some of its agents, and show the progress.

    Returns the reason if the run was stopped early, and an empty string otherwise.
    """
    print_isolation(options)
    return continue_run(wanted, models, lambda: run_progress(options)).stopped


def print_isolation(options: Options) -> None:
    """Print the isolation level of subprocesses, unless it is a safe one."""
    if options.verbose or best_level() < SAFE_LEVEL:
        note(options, f"subprocesses are {describe_level(best_level())}")


def conclude_run(  # noqa: PLR0913
    options: Options,
    project: Project,
    run: str | RunView,
    stopped: str,
    only: Collection[str] | None = None,
    *,
    announced: bool = False,
    lines: LinePrinter | None = None,
) -> int:
    """Print the results of a run, apply the retention limits and return the exit code.

    `only` contains the IDs of the agents whose results are printed. The JSON document always covers
    the whole run. `announced` is True if the name of the run was already printed when it started.
    If `run` is an earlier view, attempts that had ended in that view are not read again. With
    `lines`, the document is printed as the last line.
    """
    run_id, known = (run, ()) if isinstance(run, str) else (run.run_id, run.jobs)
    try:
        view = read_run(project, run_id, known, details=False)
    except NotFound:  # stopped before the run started
        note(options, stopped)
        raise KeyboardInterrupt from None
    document = run_document(project, view)
    jobs = view.jobs
    if only is not None:
        jobs = tuple(job for job in jobs if job.agent_id in only)
    exit_code = 130 if stopped else jobs_exit_code(jobs)
    if lines is not None:
        whole = {**document, "jobs": list(document["jobs"])}
        lines(RunResulted(exit_code=exit_code, stopped=stopped, document=whole))
    elif only is None:
        # on a terminal the name and model were already printed
        known_name = announced and sys.stdout.isatty() and sys.stderr.isatty() and not options.quiet
        texts = run_lines(options, project, view, document, heading=not known_name, brief=True)
        emit(options, document, texts)
    else:
        emit(options, document, attempt_lines(options, project, view, jobs))
    if stopped:
        stopped = "stdout was closed" if lines and lines.is_closed else stopped
        note(options, f"{stopped}: your files are unchanged; completed work is recorded")
        if options.json or only is not None or lines or not sys.stdout.isatty():
            resume = next_command(options, project.root, "analyze", "--resume", run_id)
            note(options, f"resume with `{resume}`")  # else it is printed above
    return exit_code
