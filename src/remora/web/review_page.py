"""The review of a run: its pending changes, hunk by hunk, and the verdicts on them.

The verdicts are those of `remora review`, and are recorded with the surface `web`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import Conflict, RemoraError, UsageError
from remora.ids import display_name, file_of_key
from remora.memory.events import Review
from remora.runs.project import Project
from remora.runs.records.hunk_groups import labelled_hunks
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_record import read_own_record
from remora.runs.report.job_texts import done_summary, why_not_judged
from remora.runs.review.accepted_changes import Announce, Verdicts
from remora.runs.review.conflicts import ChangeConflict, conflicting_jobs, conflicts_now
from remora.runs.review.pending import pending_changes
from remora.runs.review.ready_changes import ready_change
from remora.statuses import DECIDED
from remora.text import count, some_of
from remora.trace.read.reader import typed_payload
from remora.usecases.review import accept_part, verdicts
from remora.usecases.review import revert as reverting
from remora.web.addresses import number_in, query_number
from remora.web.html_responses import diff_html, error_page, page
from remora.web.session import Session
from remora.web.verdict_queue import Outcome, VerdictQueue
from remora.workspaces.apply.line_diff import diff_hunks, split_lines
from remora.workspaces.copy.changes import hunks_text
from remora.workspaces.hunks import ChangeHunk, changed_lines, hunk_count, separate_hunks

_MAX_FORM = 1_000_000
"""Bytes of a form."""
_MOST = 50
"""Change sets of a page."""
_MOST_LINES = 100
"""Lines around a hunk that are sent at a time."""
Form = Mapping[str, Sequence[str]]
"""The values of each field."""


async def read_form(session: Session, request: Request) -> Form | Response:
    """Return a form that this server made, or the refusal of any other form."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM:
            return error_page(413, "The form is too large", "Use `remora review`.")
    form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    if not session.is_own_form(first_value(form, "token")):
        return error_page(403, "This form is not from this page", "Load the review again.")
    return form


def first_value(form: Form, name: str) -> str:
    """Return the first value of a field, or an empty string."""
    return next(iter(form.get(name, ())), "")


def parse_number(text: str) -> int:
    """Return the number in a field. Raises UsageError if it has none."""
    found = number_in(text)
    if found is None:
        raise UsageError(f"{text[:40]!r} is not a number", hint="load the review again")
    return found


class ShownChange(NamedTuple):
    """A pending change set."""

    job: JobView
    summary: str
    """What the change set fixes, and what it leaves."""
    lines: tuple[int, int]
    """The numbers of lines that it adds and deletes."""
    groups: list[list[ChangeHunk]]
    """Its hunks, or nothing if they are not loaded yet or cannot be shown."""
    files_before: Mapping[str, bytes]
    of: int
    """The number of its hunks with those that are decided or were taken out."""
    problem: str
    """Why its hunks cannot be shown, or an empty string."""
    conflicts: Sequence[ChangeConflict] = ()
    """Conflicts with the user's files. While there are any, it cannot be accepted."""
    others: Sequence[JobView] = ()
    """The accepted change sets that caused the conflicts."""


def review_page(
    invocation: Invocation, session: Session, queue: VerdictQueue, request: Request
) -> Response:
    """Return the pending change sets of a run, and the last verdicts, which can be undone.

    Say what the verdicts did that were carried out since the page was last shown. With `?only=AGENT`,
    return this change set alone. The page loads it from there if it is not one of the first.
    """
    project, run = open_project(invocation), request.path_params["run"]
    only = request.query_params.get("only")
    judged, done = queue.of_run(run)  # before the run is read, which has what they recorded
    messages = [(verdict.agents, queue.take(verdict)) for verdict in done if only is None]
    view = read_run(project, read_own_record(project, run))
    pending = [job for _, job in pending_changes(view, "file")]
    shown = pending[:_MOST] if only is None else [job for job in pending if job.agent_id == only]
    opened = {job.agent_id for job in shown[:1]} | {outcome.agent for _, outcome in messages}
    decided = _decided(view)
    return page(
        "review.html",
        view=view,
        only=only,
        agents=[job.agent_id for job in pending],
        folder_of={job.agent_id: file_of_key(job.node_id).rpartition("/")[0] for job in shown},
        changes=[_shown(project, view, job, is_open=job.agent_id in opened) for job in shown],
        decided=[(job, review.surface, _part(job)) for job, review in decided if only is None],
        last=[job for job, _ in decided if messages and job.agent_id in messages[-1][0]],
        hunks_text=hunks_text,
        not_judged=why_not_judged(view),
        messages=[outcome for _, outcome in messages],
        form_token=session.form_token,
        judged=judged,
        judged_agents={agent for verdict in judged for agent in verdict.agents},
    )


def lines_part(invocation: Invocation, request: Request) -> Response:
    """Return lines of a file as it was when a run started, up to the hunks around one, as HTML."""
    query, project = request.query_params, open_project(invocation)
    view = read_run(project, read_own_record(project, request.path_params["run"]), details=False)
    job = next((job for job in view.jobs if job.agent_id == query.get("agent")), None)
    patches = ready_change(project, job).whole if job is not None else []
    patch = next((patch for patch in patches if patch.path == query.get("path")), None)
    base, theirs = (patch.base or b"", patch.theirs or b"") if patch is not None else (b"", b"")
    lines = split_lines(base)
    hunk, old, new = (max(1, query_number(request, name) or 1) for name in ("hunk", "old", "new"))
    others = diff_hunks(lines, split_lines(theirs))
    first = max([old - 1, *(other.end for other in others if other.start < hunk - 1)])
    end = old - 1 + min(query_number(request, "count") or _MOST_LINES, _MOST_LINES)
    end = min([end, *(other.start for other in others if other.start > hunk - 1)])
    head = f"@@ -{first + 1} +{new + first + 1 - old} @@"
    shown = b"".join(b" " + line for line in lines[first:end]).decode("utf-8", "replace")
    return HTMLResponse(diff_html(f"{head}\n{shown}" if shown else "", base))


async def decide(
    invocation: Invocation, session: Session, queue: VerdictQueue, request: Request
) -> Response:
    """Carry out the verdict of a form, and return to the review with a message about it.

    While the gates judge it, the review shows what they say.
    """
    form = await read_form(session, request)
    if isinstance(form, Response):
        return form
    run = request.path_params["run"]
    carry_out = partial(_carry_out, invocation, run, form)
    verdict = queue.add(run, form.get("agent", ()), carry_out)
    place = first_value(form, "next")
    if await verdict.finish_soon() and verdict.result.exception() is None:
        place = verdict.result.result().agent
    return RedirectResponse(f"/runs/{quote(run)}/review#{quote(place, safe='')}", 303)


def _carry_out(invocation: Invocation, run: str, form: Form, announce: Announce) -> Outcome:
    """Carry out the verdict of a form. Return what it did, and the agent to show then."""
    try:
        done = _decide(invocation, run, form, announce)
    except Conflict as error:
        message = f"Nothing was written: {error.with_hint}"
    except RemoraError as error:
        message = f"Nothing was decided: {error.with_hint}"
    else:
        message = _verdict_text(done)
        if not (done.unwritten or done.error) and (done.accepted or done.rejected or done.reopened):
            return Outcome(message, first_value(form, "next"))
    shown, chosen = ({*" ".join(form.get(name, ())).split()} for name in ("hunks", "hunk"))
    return Outcome(message, first_value(form, "agent"), shown - chosen)


def _verdict_text(done: Verdicts) -> str:
    """Return what a verdict did, in one paragraph."""
    names = some_of([*map(display_name, done.accepted or done.rejected or done.reopened)], 3)
    part = [text for job in done.view.jobs if job.node_id in done.accepted and (text := _part(job))]
    numbers = {"accepted": done.accepted, "rejected": done.rejected, "pending again": done.reopened}
    parts = [
        f"{count(len(nodes), 'change')} {what}: {names}" for what, nodes in numbers.items() if nodes
    ]
    parts += part if len(done.accepted) == 1 else []
    parts += [f"not written: {part['path']}: {part['detail']}" for part in done.unwritten]
    written = {job.node_id for job in done.view.jobs if job.review.is_written}
    if any(part["node_id"] in written for part in done.unwritten):
        run = done.view.run_id
        parts.append(
            f"your edit stays; `remora diff {run}` shows what was accepted, to undo by hand"
        )
    parts += [*done.notes, *done.damaged]
    parts += [f"stopped: {done.error.with_hint}"] if done.error is not None else []
    return "; ".join(parts) or "nothing was decided"


def _decide(invocation: Invocation, run: str, form: Form, announce: Announce) -> Verdicts:
    """Carry out the verdict of a form."""
    verb = first_value(form, "verb")
    if not verb:
        raise UsageError("no button was pressed", hint="choose Accept or Reject")
    act = _VERBS.get(verb)
    if act is None:
        raise UsageError(f"{verb!r} is not a verdict", hint="load the review again")
    may_write = "untested" in form or "ask" not in form
    options = {"announce": announce, "may_write": lambda *_: may_write}
    return act(replace(open_project(invocation), surface="web"), run, form, options)


def _accept(project: Project, run: str, form: Form, options: Mapping[str, Any]) -> Verdicts:
    agent = first_value(form, "agent")
    shown, chosen = (
        {parse_number(text) for group in form.get(name, ()) for text in group.split()}
        for name in ("hunks", "hunk")
    )
    if chosen != shown:
        done = accept_part.accept_hunks(run, agent, chosen, root=project, **options)
        rest = None if done.unwritten else verdicts.reject(run, agent, root=project)
        return done if rest is None else replace(done, view=rest.view)
    # the change sets that the page showed, not others that are pending since
    return verdicts.accept(run, *form.get("agent", ()), root=project, **options)


def _reject(project: Project, run: str, form: Form, _: object) -> Verdicts:
    reason = first_value(form, "reason") or None
    return verdicts.reject(run, first_value(form, "agent"), feedback=reason, root=project)


def _undo(project: Project, run: str, form: Form, _: object) -> Verdicts:
    return reverting.undo(run, *form.get("agent", ()), root=project)


_VERBS: dict[str, Callable[[Project, str, Form, Mapping[str, Any]], Verdicts]] = {
    "accept": _accept,
    "reject": _reject,
    "undo": _undo,
}


def _shown(project: Project, view: RunView, job: JobView, *, is_open: bool) -> ShownChange:
    try:
        change = ready_change(project, job)
        conflicts = conflicts_now(project, change.patches)
        others = conflicting_jobs(project, view, job) if conflicts else []
    except RemoraError as error:
        return ShownChange(job, done_summary(job), (0, 0), [], {}, 0, error.with_hint)
    hunks = labelled_hunks(change.whole, job, change.hunks) if is_open else []
    of, lines = hunk_count(change.whole), changed_lines(change.patches)
    before = {patch.path: patch.base or b"" for patch in change.whole}
    groups, summary = separate_hunks(hunks), done_summary(job)
    return ShownChange(job, summary, lines, groups, before, of, "", conflicts, others)


def _part(job: JobView) -> str:
    """Return which part of an accepted change set was written, or nothing if it is all of it."""
    written = job.review.written
    if written is None:
        return ""
    if written.edited:
        return "with your edits"
    left = len(job.review.left) or written.of - len(written.hunks)
    where = "taken out by the checks" if job.review.is_whole else "left out"
    where = "pending" if job.review.left else where
    return f"{len(written.hunks)} of {count(written.of, 'hunk')}; {left} {where}"


def _decided(view: RunView) -> list[tuple[JobView, Review]]:
    """Return the change sets whose verdict can be undone, with it, the last verdict first."""
    reviews = [typed_payload(event) for event in view.record.events if event.type == Review.type]
    verdicts = (job for job in view.jobs if job.review.verdict)
    jobs = {job.agent_id: job for job in verdicts if job.review.state in DECIDED or job.review.left}
    return [
        (jobs.pop(review.agent_id), review)
        for review in reversed(reviews)
        if isinstance(review, Review) and review.agent_id in jobs
    ]
