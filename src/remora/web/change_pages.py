"""The pages of a change that is not recorded: what `judge` says of it, and what it concerns."""

import asyncio
from functools import partial

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import NotFound, RemoraError
from remora.judges.tests.judged_tests import ADVICE
from remora.runs.review.accepted_changes import Announce
from remora.usecases.command_document import document_of
from remora.usecases.impact import TITLES
from remora.usecases.judge import judge_change as judging
from remora.usecases.judge.change_trees import ChangeRequest
from remora.web.addresses import Links
from remora.web.html_responses import page, page_in_two_parts, render
from remora.web.review_page import first_value, read_form
from remora.web.session import Session
from remora.web.verdict_queue import Outcome, VerdictQueue

_LONG_S = 120.0
"""Seconds of a judgement that is to take longer."""


def judge_page(
    invocation: Invocation, session: Session, queue: VerdictQueue, request: Request
) -> Response:
    """Return what can be said of the change without running code, or the last judgement.

    While a judgement is made, the page shows what it says. When it has ended, it is the last one.
    """
    judged, done = queue.of_run("")
    messages = [queue.take(verdict).message for verdict in done]
    if done and not any(messages):
        return RedirectResponse("/judge?last=1", 303)
    if judged:
        return page("judge.html", judged=judged, messages=messages)
    values = {"judged": [], "messages": messages, "asked": request.query_params.get("range", "")}
    body = partial(_judged, invocation, session, request.query_params)
    return page_in_two_parts("judge.html", body, request, **values)


async def judge_whole(
    invocation: Invocation, session: Session, queue: VerdictQueue, request: Request
) -> Response:
    """Judge with the tests, too, a change or the last one again. Only a form of our page may run code."""
    form = await read_form(session, request)
    if isinstance(form, Response):
        return form
    is_again = "again" in form or "longer" in form
    last = judging.last_judgement(open_project(invocation)) if is_again else None
    asked = ChangeRequest(*last.asked) if last else ChangeRequest(first_value(form, "range"))
    if not queue.of_run("")[0]:
        seconds = _LONG_S if "longer" in form else judging.LEAST_S
        await queue.add("", (), partial(_judge, invocation, asked, seconds)).finish_soon()
    return RedirectResponse("/judge", 303)


def impact_page(invocation: Invocation, request: Request) -> Response:
    """Return what a function, or without a name the change, concerns."""
    name = request.query_params.get("name", "").replace("\0", "").strip()
    words = ["hub", "impact", "--budget=8000", *(["--", name] if name else [])]

    def body(link: Links) -> str:
        try:
            found = asyncio.run(document_of(invocation, words))
        except NotFound as error:
            what = f"No function, class or file matches “{name}”"
            raise NotFound(what, hint=error.hint) from None
        rows = (row for key in TITLES for row in found[key])
        found["unsure"] = any(row.get("tier", "exact") != "exact" for row in rows)
        return render("impact_body.html", found=found, titles=TITLES, link=link)

    return page_in_two_parts("impact.html", body, request, asked=name)


def _judge(
    invocation: Invocation, request: ChangeRequest, seconds: float, tell: Announce
) -> Outcome:
    """Judge a change, which keeps the judgement. Return what is wrong if it cannot be judged."""
    observer = judging.JudgeObserver(tell, lambda found: tell(f"{found.path}: {found.text}"))
    try:
        judging.judge_change(invocation, request, observer, seconds=seconds)
    except RemoraError as error:
        return Outcome(error.with_hint)
    return Outcome("")


def _judged(invocation: Invocation, session: Session, query: QueryParams, link: Links) -> str:
    kept = judging.last_judgement(open_project(invocation))
    last = kept if "last" in query else None
    asked = ChangeRequest(query.get("range", "").strip())
    found = last.judgement if last else judging.judge_change(invocation, asked, static=True)
    values = {"found": found, "last": last, "kept": kept, "form_token": session.form_token}
    gone = "last" in query and last is None
    about = {"asked": asked.revisions, "advice": ADVICE, "gone": gone}
    return render("judge_body.html", link=link, **about, **values)
