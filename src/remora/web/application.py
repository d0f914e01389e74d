"""The application of `remora ui`: its routes, and the checks that each request passes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import Conflict, NotFound, RemoraError, UsageError
from remora.local_server.request_guard import LocalOnly
from remora.text import REPORT, bug_report_line
from remora.trace.verify.folder_check import verify_all
from remora.usecases.hub.open_hub import SharedHub
from remora.web.agent_page import agent_page, line_file, prompt_file, record_part, turns_part
from remora.web.change_pages import impact_page, judge_page, judge_whole
from remora.web.html_responses import PageHeaders, error_page, load_templates, page
from remora.web.live_updates import live_agent, live_run
from remora.web.node_page import node_page, nodes_page, reach_part
from remora.web.project_part import project_part, work_part
from remora.web.review_page import decide, lines_part, review_page
from remora.web.run_pages import run_page, runs_page
from remora.web.session import START, CookieCheck, Session
from remora.web.verdict_queue import VerdictQueue


def _badge(template: str, invocation: Invocation, request: Request) -> Response:
    """Return the badge of an agent's or a run's stream, from all its bytes."""
    report = verify_all(open_records(invocation).trace, request.path_params["stream"]).streams[0]
    return page(template, report=report, checked=datetime.now(UTC).isoformat())


_PAGES: dict[str, Callable[[Invocation, Request], Response]] = {
    "/": runs_page,
    "/project/work": work_part,
    "/impact": impact_page,
    "/runs/{run}": run_page,
    "/runs/{run}/review/lines": lines_part,
    "/agents/{agent}": agent_page,
    "/agents/{agent}/rows": turns_part,
    "/agents/{agent}/turns/{turn:number}": record_part,
    "/agents/{agent}/turns/{turn:number}/prompt": prompt_file,
    "/agents/{agent}/turns/{turn:number}/lines/{line:number}": line_file,
    "/streams/{stream}": partial(_badge, "verified.html"),  # for browsers without scripts
    "/streams/{stream}/badge": partial(_badge, "badge.html"),
}
"""Pages and parts of pages by path. Each is computed in a thread."""


def create_app(invocation: Invocation, session: Session, link_used: Callable[[], None]) -> ASGIApp:
    """Return the application. `link_used` is called when a browser was let in."""
    hub, verdicts = SharedHub(invocation, lambda _text: None), VerdictQueue()
    review = "/runs/{run}/review"

    pages = Starlette(
        routes=[
            Route(START + "{code}", partial(_start, session, link_used)),
            *(Route(path, partial(handler, invocation)) for path, handler in _PAGES.items()),
            Route(review, partial(review_page, invocation, session, verdicts), methods=["GET"]),
            Route(review, partial(decide, invocation, session, verdicts), methods=["POST"]),
            Route("/judge", partial(judge_page, invocation, session, verdicts), methods=["GET"]),
            Route("/judge", partial(judge_whole, invocation, session, verdicts), methods=["POST"]),
            Route("/project", partial(project_part, invocation, verdicts)),
            Route("/nodes", partial(nodes_page, invocation, hub)),
            Route("/nodes/{node:path}", partial(node_page, invocation, hub)),
            Route("/reach", partial(reach_part, hub)),
            Route("/live/verdicts/{verdict}", verdicts.follow),
            Route("/live/agents/{agent}", partial(live_agent, invocation)),
            Route("/live/runs/{run}", partial(live_run, invocation)),
            Mount("/static", StaticFiles(packages=[("remora.web", "static")])),
        ],
        lifespan=partial(_closing, hub, verdicts),
        middleware=[Middleware(CookieCheck, session=session)],
        exception_handlers={
            RemoraError: _show_error,
            HTTPException: _show_http_error,
            ClientDisconnect: lambda _request, _error: Response(),  # the client has gone
            Exception: _show_fault,
        },
    )
    return PageHeaders(LocalOnly(pages))  # around the answers to faults, too


def _start(session: Session, link_used: Callable[[], None], request: Request) -> Response:
    """Let a browser in that opens a link. What only looks at the link does not use it up."""
    if request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", ""):
        return error_page(405, "This link must be opened", "Open it in a browser.")
    if session.has_cookie(request.headers):
        return RedirectResponse("/", 303)
    if not session.use_link(request.path_params["code"]):
        return error_page(
            403,
            "This link was already used",
            "Each link works once. When one was used, `remora ui` prints another.",
        )
    answer = page("start.html")
    answer.set_cookie(session.cookie, session.secret, httponly=True, samesite="strict")
    with suppress(OSError):  # nothing reads the output of the command any more
        link_used()
    return answer


@asynccontextmanager
async def _closing(hub: SharedHub, verdicts: VerdictQueue, _app: Starlette) -> AsyncIterator[None]:
    """Close the Hub and give up verdicts when the server ends.

    Templates are read at the start: those of a later version may not fit this code.
    """
    loading = asyncio.create_task(asyncio.to_thread(load_templates))
    with closing(hub), closing(verdicts):
        yield
    await loading


def _show_error(request: Request, error: Exception) -> HTMLResponse:
    """Return a page with an error, and a link to the run or review that the address is about."""
    assert isinstance(error, RemoraError)
    run = request.path_params.get("run", "")
    numbers = ((NotFound, 404), (UsageError, 400), (Conflict, 409))
    status = next((number for kind, number in numbers if isinstance(error, kind)), 500)
    is_review = run and request.url.path.startswith(f"/runs/{run}/review")
    return error_page(status, error.message, error.hint or "", run=run, is_review=bool(is_review))


def _show_http_error(_request: Request, error: Exception) -> HTMLResponse:
    assert isinstance(error, HTTPException)
    title = "No such page" if error.status_code == HTTPStatus.NOT_FOUND else error.detail
    return error_page(error.status_code, title, "")


def _show_fault(_request: Request, error: Exception) -> HTMLResponse:
    return error_page(500, "The page cannot be shown", f"{bug_report_line(error)}; {REPORT}")
