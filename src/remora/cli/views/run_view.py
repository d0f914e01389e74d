"""Shows a run: its jobs, its totals and the commands to run next."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import click

from remora.agents.builtin_tools import NEEDS_MODEL
from remora.cli.app.options import Options
from remora.cli.app.output import terminal_width, wrap_text
from remora.cli.app.project_context import invocation_of, next_command
from remora.cli.views.diagnosis_view import why_lines
from remora.cli.views.job_view import code_lines, job_lines, review_counts
from remora.cli.views.run_summary import OPEN, run_sentence
from remora.code.syntax.node_patterns import file_pattern
from remora.errors import ModelError, RemoraError
from remora.ids import NodeKey, display_name, split_node_key
from remora.operations.base import NEEDS_NAME, NEEDS_WRITER, NO_FIX
from remora.runs.project import ProjectRecords
from remora.runs.records.change_set_files import shown_hunks
from remora.runs.records.decision_sources import ModelPart, model_text, sources_text
from remora.runs.records.job_view import JobView
from remora.runs.records.results import JobDocuments, RunView
from remora.runs.records.run_record import (
    is_of_client,
    is_of_other_program,
    model_words,
    recorded_selectors,
)
from remora.runs.records.totals import Document, totals_by_operation
from remora.runs.report.job_findings import lint_left
from remora.runs.report.job_texts import gate_texts, unread_text
from remora.statuses import (
    CONFLICT,
    DONE,
    FAILURES,
    INTERRUPTED,
    NO_MODEL,
    PENDING,
    STALE,
    WITH_RESULT,
)
from remora.text import count, escape_line
from remora.workspaces.hunks import group_text, separate_hunks

_AT_LINE = re.compile(r"line (\d+): (.*)", re.DOTALL)
"""Details of a syntax error."""
_MOST_LISTED, _MOST_PROBLEMS = 200, 10
"""Maximum number of jobs in a complete list, and of jobs with each status in a brief one."""


def run_lines(
    options: Options,
    project: ProjectRecords,
    view: RunView,
    document: Document,
    *,
    heading: bool = True,
    brief: bool = False,
) -> Iterator[str]:
    """Yield the lines that describe a run.

    If `brief` is true, only the first jobs with a problem are listed if the run has many jobs.
    """
    jobs, width = document["jobs"], terminal_width()
    if heading:
        yield from _heading_lines(view, document)
    if brief and len(jobs) > _MOST_LISTED and not options.verbose:
        yield from _problem_lines(options, project, view, jobs)
    else:
        groups = dict(_hunk_groups(project, view)) if options.verbose else {}
        jobs = [{**job, "groups": groups.get(job["agent_id"])} for job in jobs] if groups else jobs
        yield from job_lines(jobs, width, verbose=options.verbose)
        yield from code_lines(jobs, width)
    yield from why_lines(project.trace, view.jobs, width)
    yield ""
    yield totals_line(document)
    yield from unreadable_lines(document["totals"], width)
    if not is_of_other_program(view.start):
        yield from decision_lines(document, width, verbose=options.verbose)
    yield from (line for text in gate_texts(view) for line in wrap_text(escape_line(text), width))
    for line in _resume_lines(options, project, view):
        yield from wrap_text(line, None if line.startswith("  ") else width)
    yield from _end_lines(options, project, view, document)


def _end_lines(
    options: Options, project: ProjectRecords, view: RunView, document: Document
) -> Iterator[str]:
    """Yield the sentence about a run, and the command to run next."""
    width, plan = terminal_width(), view.start.plan
    yield ""
    sums = totals_by_operation(document["jobs"], plan, project.operations.totals)
    files = {
        split_node_key(job.node_id)[0]
        for job in view.jobs
        if job.review.state in DONE and (job.review.is_whole or job.findings.before is None)
    }
    findings = Counter[str]()
    for reason, number, _ in lint_left(view):
        findings[reason or OPEN] += number
    nodes = {
        operation: {reason: [*keys] for reason, keys in reasons.items()}
        for operation, reasons in plan.get("left_nodes", {}).items()
    }
    counting = {total.operation for total in sums if total.measures.get("findings")}
    for job in document["jobs"]:
        name = job["operation"]
        if job["why"] == NEEDS_MODEL and job["status"] in WITH_RESULT and name not in counting:
            nodes.setdefault(name, {}).setdefault(NEEDS_WRITER, []).append(job["node_id"])
    said = run_sentence(
        sums, findings, nodes, project.operations, len(files), verbose=options.verbose
    )
    yield from wrap_text(escape_line(said or "nothing was changed"), width)
    reasons = {*findings, *chain.from_iterable(nodes.values())}
    if document["model"] == NO_MODEL or NEEDS_NAME in reasons:
        left = plan.get("left_nodes", {})
        yield from writer_lines(options, project, plan.get("operations", ()), reasons, left)
    if any(job.review.state == PENDING for job in view.jobs):
        look = "review" if width else "diff"
        command = next_command(options, project.root, look, view.run_id)
        kept = (
            "" if any(job.review.is_written for job in view.jobs) else "your files are unchanged; "
        )
        yield from wrap_text(f"{kept}see the changes: `{command}`", width)


def writer_lines(
    options: Options,
    project: ProjectRecords,
    operations: Sequence[str],
    reasons: Iterable[str],
    left_nodes: Mapping[str, Mapping[str, Iterable[NodeKey]]],
) -> Iterator[str]:
    """Yield the command that lets a model do what is left, or how to get one, if a model could."""
    from remora.runs.report.next_step import model_step

    if any(NEEDS_WRITER in reason or reason in (NO_FIX, NEEDS_NAME) for reason in reasons):
        here = invocation_of(options)
        cache = here.folders.cache
        step = model_step(project.root, here.folder, cache, operations, left_nodes)
        command = step.missing or f"`{next_command(options, project.root, *step.words)}`"
        yield from wrap_text(f"to let a model try: {command}", terminal_width())


def _hunk_groups(project: ProjectRecords, view: RunView) -> Iterator[tuple[str, str]]:
    """Yield each agent's ID with the groups of its hunks, if these can be read."""
    for job in view.jobs:
        with suppress(RemoraError):
            groups = separate_hunks(shown_hunks(project, job))
            yield job.agent_id, ", ".join(map(group_text, groups))


def status_lines(
    options: Options,
    view: RunView,
    document: Document,
    statuses: Collection[str],
    jobs: Sequence[Document],
) -> Iterator[str]:
    """Yield the jobs of a run that have one of the statuses, and the totals of the run."""
    if not jobs:
        yield f"no job has the status {' or '.join(dict.fromkeys(statuses))}"
        return
    yield from _heading_lines(view, document)
    yield from job_lines(jobs, terminal_width(), verbose=options.verbose)
    yield ""
    yield totals_line(document)


def _heading_lines(view: RunView, document: Document) -> Iterator[str]:
    began = str(view.started)[:16].replace("T", " ")
    yield click.style(
        escape_line(f"run {view.run_id} · {view.status} · started {began} UTC"), bold=True
    )
    if document["model"]:
        yield escape_line(f"model {document['model']}")
    if is_of_other_program(view.start):
        yield "recorded by another program, which also changes files itself"


def _problem_lines(
    options: Options, project: ProjectRecords, view: RunView, jobs: Sequence[Document]
) -> Iterator[str]:
    """Yield the first jobs that failed, and the commands that list the others."""
    wrong = {status: [job for job in view.jobs if job.status == status] for status in FAILURES}
    first = [job for group in wrong.values() for job in group[:_MOST_PROBLEMS]]
    yield from job_lines(JobDocuments(first), terminal_width(), verbose=False)
    for status, failed in wrong.items():
        if len(failed) > _MOST_PROBLEMS:
            show = next_command(options, project.root, "show", view.run_id, "--status", status)
            yield f"{len(failed) - _MOST_PROBLEMS:,} more with the status {status}: `{show}`"
    show = next_command(options, project.root, "show", view.run_id)
    yield f"`{show}` lists all {len(jobs):,}"


def attempt_lines(
    options: Options, project: ProjectRecords, view: RunView, jobs: Sequence[JobView]
) -> Iterator[str]:
    """Yield the results of the given jobs, and the commands to run next."""
    verbose = options.verbose or len(jobs) == 1
    yield from job_lines(JobDocuments(jobs), terminal_width(), verbose=verbose)
    yield from why_lines(project.trace, jobs, terminal_width())
    yield from _problem_commands(options, project, view, jobs)
    nodes = dict.fromkeys(display_name(job.node_id) for job in jobs if job.review.state == PENDING)
    if nodes:
        yield f"see the changes: {next_command(options, project.root, 'diff', view.run_id, *nodes)}"


def totals_line(document: Document) -> str:
    """Return the totals of a run, such as `9 verified, 2 no change, 1 not started`."""
    jobs, totals = document["jobs"], document["totals"]
    parts = [review_counts(jobs)] if jobs else []
    if len(jobs) < totals["jobs"]:
        parts.append(f"{totals['jobs'] - len(jobs):,} not started")
    if unread := unread_text(totals["unreadable"]):
        parts.append(unread)
    return ", ".join(parts)


def unreadable_lines(totals: Mapping[str, Any], width: int | None) -> Iterator[str]:
    for file in totals["unreadable"]:
        at_line = _AT_LINE.fullmatch(file["detail"])
        what = f":{at_line[1]}: {at_line[2]}" if at_line else f": {file['detail']}"
        line = escape_line(f"not checked: {file['path']}{what}")
        yield from (click.style(part, fg="yellow") for part in wrap_text(line, width, "  "))


def decision_lines(document: Document, width: int | None, *, verbose: bool) -> Iterator[str]:
    """Yield the model's part, and before it or if `verbose`, how many decisions were made by whom."""
    decisions, part = document["totals"]["decisions"], document["totals"]["by_model"]
    if sum(decisions.values()) > decisions["rule"] and (verbose or part is not None):
        yield from wrap_text(sources_text(decisions), width)
    if part is not None:
        yield from wrap_text(model_text(ModelPart(**part)), width)


def _resume_lines(options: Options, project: ProjectRecords, view: RunView) -> Iterator[str]:
    left = view.planned - sum(job.status != INTERRUPTED for job in view.jobs)
    if view.status == INTERRUPTED and left and not is_of_other_program(view.start):
        title = f"to run the {left:,} that did not finish:"
        words = ("analyze", "--resume", view.run_id, *model_words(view.start))
        yield from _repeat_lines(options, project, view, title, [words])
    yield from _problem_commands(options, project, view, view.jobs)


def _problem_commands(
    options: Options, project: ProjectRecords, view: RunView, jobs: Sequence[JobView]
) -> Iterator[str]:
    unread = sorted(job.agent_id for job in view.damaged)
    stale = [display_name(job.node_id) for job in jobs if job.review.state == STALE]
    wrong = (job.agent_id for job in jobs if job.status in FAILURES and not job.stream.damaged)
    lost = [job for job in jobs if job.outcome.stop_reason == "model_error"]
    redo = [
        redo_words(view, job.operation, job.node_id) for job in jobs if job.review.state == CONFLICT
    ]
    edited = [retry_words(view, node) for node in dict.fromkeys(stale)]
    again = [retry_words(view, display_name(job.node_id)) for job in lost[:1]]
    if len(lost) > 1:
        yield f"the model failed in {count(len(lost), 'job')}: {escape_line(str(lost[0].outcome.error))}"
    repeats: dict[str, Sequence[Sequence[str]]] = {
        "to redo conflicting changes on your current files:": redo,
        "to redo changes of functions that you edited during the run:": edited,
        "to ask the model again:": again,
    }
    for title, commands in repeats.items():
        yield from _repeat_lines(options, project, view, title, commands)
    verify = [("trace", "verify", agent) for agent in unread]
    yield from _command_lines(options, project, "to see what cannot be read:", verify)
    why = [("trace", "why", agent) for agent in islice(wrong, 1)]
    yield from _command_lines(options, project, "to see why it failed, with the evidence:", why)


def _repeat_lines(
    options: Options,
    project: ProjectRecords,
    view: RunView,
    title: str,
    commands: Sequence[Sequence[str]],
) -> Iterator[str]:
    """Yield commands that run jobs again, or for jobs of clients, what does so."""
    if commands and is_of_client(view.start):
        yield from ["", title, "  let a client call next_job"]
    else:
        yield from _command_lines(options, project, title, commands)


def _command_lines(
    options: Options, project: ProjectRecords, title: str, commands: Sequence[Sequence[str]]
) -> Iterator[str]:
    if commands:
        yield from ["", title]
        yield from (f"  {next_command(options, project.root, *words)}" for words in commands)


def retry_words(view: RunView, name: str) -> list[str]:
    """Return the words of the command that asks the model of a run again, about a node's name."""
    return ["retry", view.run_id, escape_line(name), *model_words(view.start)]


def redo_words(view: RunView, operation: str, node_id: str) -> list[str]:
    """Return the words of the command that works on a node again."""
    if view.start.config.get("missed"):
        return ["judge", "--add-tests"]
    named = (job for job in view.jobs if (job.operation, job.node_id) == (operation, node_id))
    on_file = any(job.nodes is not None for job in named)
    path, _ = split_node_key(node_id)
    name = file_pattern(path) if on_file else display_name(node_id)
    words = ["analyze", "-o", operation, "--node", escape_line(name)]
    selected = recorded_selectors(view.start)
    words += ["--select", ",".join(selected)] if selected else []
    return words + (["--unsafe-fixes"] if view.start.config.get("unsafe_fixes") else [])


def jobs_exit_code(jobs: Sequence[JobView]) -> int:
    """Return the exit code for jobs that have ended.

    It is 3 if a model failed in any of them, also if rules completed the job.
    """
    reasons = {job.outcome.stop_reason for job in jobs}
    if "model_error" in reasons:
        return ModelError.exit_code
    is_good = all(job.status in WITH_RESULT for job in jobs)
    return 0 if is_good and "packet_too_large" not in reasons else 1
