"""Runs the jobs of `judge --add-tests`, and prints what they add."""

from contextlib import closing
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.cli.app.address_consent import open_with_consent
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.working import working
from remora.cli.run.foreground_run import (
    conclude_run,
    jobs_exit_code,
    note_retention,
    print_isolation,
)
from remora.cli.views.plan_view import expected_text, left_lines, plan_size
from remora.cli.views.progress import run_progress
from remora.models.agreed_addresses import require_agreed
from remora.runs.records.results import run_document
from remora.usecases.analyze.run_result import execute
from remora.usecases.judge.judge_change import Judgement, prepare_added_tests


def run_added_tests(
    options: Options, invocation: Invocation, judgement: Judgement
) -> tuple[int, dict[str, Any] | None]:
    """Add the missing cases, and print the results of the run unless the output is JSON.

    Return the exit code of the run, and its document, which is None if there was nothing to add.
    """
    if not judgement.missed:
        note(options, "no test is added: no remark names a line that a further case would notice")
        return 0, None
    project = open_with_consent(options, invocation)
    require_agreed(project.config)
    with working(options, "looking for tests that have a form for further cases"):
        prepared = prepare_added_tests(invocation, project, judgement)
    with closing(prepared):
        note(options, *left_lines(prepared.plan, verbose=options.verbose))
        if not prepared.plan.jobs:
            return 0, None
        size = f"{plan_size(prepared.plan)}: {expected_text(prepared)}"
        note(options, size, f"run {prepared.run_id}")
        print_isolation(options)
        done = execute(invocation, prepared, watching=lambda: run_progress(options))
    if not options.json:
        code = conclude_run(options, done.project, done.run_id, done.stopped, announced=True)
        return code, None
    shown = run_document(done.project, done.view)
    document = {**shown, "jobs": list(shown["jobs"])}
    if done.stopped:
        return 130, document
    note_retention(options, done.project, done.run_id)
    return jobs_exit_code(done.view.jobs), document
