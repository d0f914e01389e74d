"""The review of a run: its pending change sets, hunk by hunk, and the verdicts on them.

The verdicts are those of `remora review`, and are recorded with the surface `web`.
"""

from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args
from urllib.parse import parse_qs, quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from remora.bootstrap import api
from remora.bootstrap.open_project import open_project
from remora.bootstrap.review import review_parts
from remora.errors import Conflict, RemoraError, UsageError
from remora.ids import display_name
from remora.runs.project import Project
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import own_run
from remora.runs.review.pending import GroupBy, grouping, pending_changes
from remora.runs.review.review import Verdicts
from remora.text import count
from remora.web.agent_records import Records
from remora.web.diff_markup import DiffLine, diff_lines
from remora.web.html_responses import error_page, page
from remora.web.session import Session
from remora.workspaces.hunks import ChangeHunk, hunks_of

_MOST = 50
"""Change sets of a page."""
_MAX_FORM = 8_000_000
Form = Mapping[str, Sequence[str]]


class ShownHunk(NamedTuple):
    """A hunk of a change set, with the lines of its diff."""

    hunk: ChangeHunk
    lines: list[DiffLine]


class ShownChange(NamedTuple):
    """A pending change set. `problem` says why its hunks cannot be shown."""

    group: str
    job: JobView
    hunks: list[ShownHunk]
    problem: str


def review_page(records: Records, session: Session, request: Request) -> Response:
    """Return the pending change sets of a run, and the last verdicts, which can be undone."""
    project = records.project()
    by = _group_by(request.query_params.get("by", "file"))
    view = own_run(project, request.path_params["run"])
    pending = pending_changes(view, grouping(project, by))
    return page(
        "review.html",
        view=view,
        by=by,
        choices=get_args(GroupBy),
        pending=len(pending),
        changes=[_shown(project, group, job) for group, job in pending[:_MOST]],
        decided=[job for job in view.jobs if job.review in ("accepted", "rejected")],
        message=session.take_message(request.query_params.get("message", "")),
        form_token=session.form_token,
    )


def edit_page(records: Records, session: Session, request: Request) -> Response:
    """Return the form in which the proposed files of a change set are edited."""
    run, agent = request.path_params["run"], request.path_params["agent"]
    files = review_parts.proposed_files(run, agent, root=records.project())
    texts = [(patch.path, patch.theirs.decode()) for patch in files if patch.theirs is not None]
    return page("edit.html", run=run, agent=agent, files=texts, form_token=session.form_token)


async def decide(records: Records, session: Session, request: Request) -> Response:
    """Record the verdict of a form, and return to the review with a message about it."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM:
            return error_page(413, "The form is too large", "Edit the files with `remora review`.")
    form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    if not session.is_own_form(_one(form, "token")):
        return error_page(403, "This form is not from this page", "Load the review again.")
    run = request.path_params["run"]
    try:
        message = await to_thread(_decide, records, run, form)
    except Conflict as error:
        message = f"Nothing was written: {error.message}"
    except RemoraError as error:
        message = f"Nothing was decided: {error.message}" + (
            f"; {error.hint}" if error.hint else ""
        )
    query = f"by={quote(_one(form, 'by') or 'file')}&message={session.leave_message(message)}"
    return RedirectResponse(f"/runs/{quote(run)}/review?{query}", 303)


def _decide(records: Records, run: str, form: Form) -> str:
    """Carry out the verdict of a form. Return what became of it."""
    project = replace(open_project(records.invocation), surface="web")
    verb = _one(form, "verb")
    act = _VERBS.get(verb)
    if act is None:
        raise UsageError(f"{verb!r} is not a verdict", hint="load the review again")
    return _message(verb, act(project, run, form))


def _accept(project: Project, run: str, form: Form) -> Verdicts:
    agent = _one(form, "agent")
    chosen = {int(number) for number in form.get("hunk", ()) if number.isdecimal()}
    every = _one(form, "hunks")
    if every and chosen != set(range(1, int(every) + 1)):
        return review_parts.accept_hunks(run, agent, chosen, root=project)
    return api.accept(run, agent, root=project)


def _accept_group(project: Project, run: str, form: Form) -> Verdicts:
    view = own_run(project, run)
    found = pending_changes(view, grouping(project, _group_by(_one(form, "by"))))
    agents = [job.agent_id for group, job in found if group == _one(form, "group")]
    if not agents:
        raise UsageError("nothing of this group is pending", hint="load the review again")
    return api.accept(view, *agents, root=project)


def _reject(project: Project, run: str, form: Form) -> Verdicts:
    return api.reject(run, _one(form, "agent"), feedback=_one(form, "reason") or None, root=project)


def _accept_edited(project: Project, run: str, form: Form) -> Verdicts:
    agent = _one(form, "agent")
    edited = dict(zip(form.get("path", ()), form.get("content", ()), strict=True))
    files = [
        msgspec.structs.replace(patch, theirs=_unix(edited[patch.path]))
        if patch.path in edited
        else patch
        for patch in review_parts.proposed_files(run, agent, root=project)
    ]
    return review_parts.accept_edited(run, agent, files, root=project)


def _undo(project: Project, run: str, form: Form) -> Verdicts:
    return review_parts.undo(run, _one(form, "agent"), root=project)


_VERBS: dict[str, Callable[[Project, str, Form], Verdicts]] = {
    "accept": _accept,
    "accept_group": _accept_group,
    "accept_edited": _accept_edited,
    "reject": _reject,
    "undo": _undo,
}


def _message(verb: str, done: Verdicts) -> str:
    """Return what a verdict did, in one paragraph."""
    names = ", ".join(map(display_name, (done.accepted or done.rejected or done.reopened)[:3]))
    numbers = {"accepted": done.accepted, "rejected": done.rejected, "pending again": done.reopened}
    parts = [
        f"{count(len(found), 'change set')} {what}: {names}"
        for what, found in numbers.items()
        if found
    ]
    parts += [f"not written: {each['path']}: {each['detail']}" for each in done.conflicts]
    parts += [*done.notes, *done.damaged]
    return "; ".join(parts) or f"nothing to {verb}"


def _shown(project: Project, group: str, job: JobView) -> ShownChange:
    try:
        found = hunks_of(patches_of(project, job))
    except RemoraError as error:
        return ShownChange(group, job, [], f"{error.message}; {error.hint}")
    return ShownChange(group, job, [ShownHunk(each, diff_lines(each.diff)) for each in found], "")


def _group_by(name: str) -> GroupBy:
    for known in get_args(GroupBy):
        if name == known:
            found: GroupBy = known
            return found
    return "file"


def _one(form: Form, name: str) -> str:
    return next(iter(form.get(name, ())), "")


def _unix(text: str) -> bytes:
    """Return the bytes of a text area, whose lines a browser ends with CR LF."""
    return text.replace("\r\n", "\n").encode()
