"""The lists: all runs, and the jobs of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from shlex import join
from typing import NamedTuple
from urllib.parse import urlencode

from msgspec.structs import astuple
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import RemoraError
from remora.ids import display_name, split_node_key
from remora.runs.diagnosis.why_line import why
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import JobDocuments, RunView, read_run
from remora.runs.records.run_listing import list_run_lines, place_text
from remora.runs.records.run_record import model_words
from remora.runs.records.totals import phrases_of, proposed_text, totals_by_operation
from remora.runs.report.job_texts import done_summary, unread_text, why_not_judged
from remora.statuses import CONFLICT, NO_MODEL, RUNNING, UNDECIDED, WITHOUT_RESULT, results_of
from remora.web.addresses import Links, query_number
from remora.web.html_responses import page, page_in_two_parts, render

_JOBS, _RUNS = 200, 50
"""Jobs and runs of a page."""
_MOST_CAUSES = 20


def runs_page(invocation: Invocation, request: Request) -> Response:
    """Return the list of runs, newest first. Without a filter, only the runs of the page are read."""
    project, query = open_records(invocation), request.query_params
    start, words = query_number(request, "start") or 0, query.get("text", "").lower().split()
    some = slice(None) if words else slice(-start - _RUNS, -start or None)
    runs = list_run_lines(project.trace, some)[::-1]
    number = sum(1 for _ in project.trace.run_streams())
    if words:
        texts = [(run, " ".join(map(str, astuple(run))).lower()) for run in runs]
        runs = [run for run, text in texts if all(word in text for word in words)]
        runs, number = runs[start : start + _RUNS], len(runs)
    return page(
        "runs.html",
        project=project,
        start=start,
        runs=runs,
        query=query,
        open=[run for run in runs if run.is_open],
        earlier=_address(query, start + _RUNS) if number > start + _RUNS else "",
    )


def run_page(invocation: Invocation, request: Request) -> Response:
    """Return the page of a run. Its jobs are read after the beginning was sent."""
    project = open_records(invocation)
    run_id = run_named(project.trace, request.path_params["run"])
    start = query_number(request, "start") or 0
    body = partial(_body, project, run_id, request.query_params, start)
    return page_in_two_parts("run.html", body, request, run_id=run_id)


def _body(project: ProjectRecords, run_id: str, query: QueryParams, start: int, _: Links) -> str:
    """Return the totals of a run and the jobs that match the filters, as HTML."""
    view = read_run(project, run_id, details=False)
    jobs = [job for job in view.jobs if _matches(job, query)]
    shown = jobs[start : start + _JOBS]
    plan = view.start.plan
    sums = totals_by_operation(JobDocuments(view.jobs), plan, project.operations.totals)
    reviews = Counter(job.review.state for job in view.jobs)
    return render(
        "run_body.html",
        view=view,
        operations=dict.fromkeys(job.operation for job in view.jobs),
        done=proposed_text(sums) + ", ".join(phrase.brief for phrase in phrases_of(sums)),
        where=place_text([(job.node_id, split_node_key(job.node_id)[0]) for job in view.jobs]),
        model=used_model(view),
        results=results_of(
            (job.review.state or str(job.status) for job in view.jobs), view.planned
        ),
        gates=view.gates,
        resume=_command(view, "analyze", "--resume", run_id),
        retry_of=lambda job: _command(view, "retry", run_id, display_name(job.node_id)),
        not_judged=why_not_judged(view),
        unread=unread_text(plan.get("unreadable", [])),
        rows=[*job_rows(shown, _causes(project, shown))],
        summary=done_summary,
        undecided={state: reviews[state] for state in UNDECIDED if reviews[state]},
        matching=len(jobs),
        size=_JOBS,
        earlier=_address(query, max(0, start - _JOBS)) if start else "",
        later=_address(query, start + _JOBS) if start + _JOBS < len(jobs) else "",
        query=query,
        choices=_choices(view),
        is_running=view.status == RUNNING,
    )


def _command(view: RunView, *words: str) -> str:
    """Return a command that uses the model of a run."""
    return join(["remora", *words, *model_words(view.start)])


def used_model(view: RunView) -> str:
    """Return the name of a run's model, or nothing if it used none."""
    name = view.start.config.get("model_name") or NO_MODEL
    return "" if name == NO_MODEL else str(name)


class JobRow(NamedTuple):
    """A job, why it failed, and the other jobs that failed for the same reason."""

    job: JobView
    cause: str
    same: list[JobView]


def job_rows(jobs: Sequence[JobView], causes: Mapping[str, str]) -> Iterator[JobRow]:
    """Yield a row for each job. Jobs that failed for the same reason share one."""
    rows = dict[str, JobRow]()
    for job in jobs:
        why_not = "" if job.all_reasons and job.status not in WITHOUT_RESULT else job.outcome.why
        cause = causes.get(job.agent_id) or job.outcome.error or why_not or ""
        key = cause if job.status in WITHOUT_RESULT and cause else job.agent_id
        if key in rows:
            rows[key].same.append(job)
        else:
            rows[key] = JobRow(job, cause, [])
    yield from rows.values()


def _address(query: QueryParams, start: int) -> str:
    """Return the address of the page that begins with another job, with the same filters."""
    filters = [(key, value) for key, value in query.multi_items() if key != "start"]
    return "?" + urlencode([*filters, ("start", start)])


def _filtered(job: JobView) -> dict[str, str]:
    """Return the values of a job by the name of their filter."""
    review = job.review.state
    return {"status": job.status or "", "operation": job.operation, "review": review}


def _matches(job: JobView, query: QueryParams) -> bool:
    has_values = all(query.get(key, "") in ("", value) for key, value in _filtered(job).items())
    return has_values and query.get("node", "").lower() in job.node_id.lower()


def _choices(view: RunView) -> dict[str, list[str]]:
    """Return the values that occur in the jobs of a run, for each filter."""
    found = [_filtered(job) for job in view.jobs]
    return {key: sorted({job[key] for job in found} - {""}) for key in (found or [{}])[0]}


def _causes(project: ProjectRecords, jobs: list[JobView]) -> dict[str, str]:
    """Return the why line of the first jobs that failed or conflict, by agent."""
    failed = [
        job
        for job in jobs
        if (job.status in WITHOUT_RESULT or job.review.state == CONFLICT) and not job.stream.damaged
    ]
    found = {}
    for job in failed[:_MOST_CAUSES]:
        try:
            found[job.agent_id] = why(project.trace, job.agent_id).cause.sentence
        except RemoraError as error:
            found[job.agent_id] = error.message
    return found
