"""The pages of a change that is not recorded: what `judge` says of it, and what it concerns."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from remora.bootstrap.invocation import Invocation
from remora.code.edit.text_lines import split_lines
from remora.errors import HostError
from remora.usecases.command_document import document_of
from remora.usecases.impact import TITLES
from remora.web.html_responses import page_in_two_parts, render
from remora.web.review_page import read_form
from remora.web.session import Session
from remora.workspaces.rooted_files import RootedFiles

_OFTEN_MISSING = {"since": "", "command": "", "left_out": False, "incomplete": [], "unknown": ""}
"""Fields that a document has only if there is something to say, and their values if it has not."""
_AROUND = 2
"""Lines that are shown before and after the one of a remark."""
_MOST_SHOWN = 50
"""Remarks that are shown with their lines."""


def judge_page(invocation: Invocation, session: Session, _request: Request) -> Response:
    """Return what can be said of the uncommitted change, or of the branch, without running code."""
    return page_in_two_parts("judge.html", partial(_judged, invocation, session, is_static=True))


async def judge_whole(invocation: Invocation, session: Session, request: Request) -> Response:
    """Return what the tests say of it, too. Only a form of our page may run code."""
    form = await read_form(session, request)
    if isinstance(form, Response):
        return form
    return page_in_two_parts("judge.html", partial(_judged_with_tests, invocation, session))


def impact_page(invocation: Invocation, request: Request) -> Response:
    """Return what a function, or without a name the change, concerns."""
    name = request.query_params.get("name", "").replace("\0", "").strip()
    words = ["hub", "impact", "--budget=8000", *(["--", name] if name else [])]
    body = partial(_body, "impact_body.html", invocation, words, titles=TITLES)
    return page_in_two_parts("impact.html", body, asked=name)


def _judged(invocation: Invocation, session: Session, *, is_static: bool) -> str:
    words = ["judge", *(["--static"] if is_static else [])]
    values = {"with_lines": partial(_with_lines, invocation), "is_static": is_static}
    return _body("judge_body.html", invocation, words, **values, form_token=session.form_token)


def _judged_with_tests(invocation: Invocation, session: Session) -> Iterator[str]:
    """Yield what is known without tests and the seconds that pass, and at the end the whole.

    What is last in the page replaces what was before it.
    """
    pool, begun = ThreadPoolExecutor(1), time.monotonic()
    whole = pool.submit(_judged, invocation, session, is_static=False)
    pool.shutdown(wait=False)  # a closed page does not wait for it
    yield '<div class="before-tests"><p role="status">'
    yield "Tests run in isolated copies of the project. Until they end, this is what is known.</p>"
    yield f'{_judged(invocation, session, is_static=True)}<p class="clock">'
    while not wait([whole], 1.0).done:
        yield f"<span>{time.monotonic() - begun:.0f} s</span>"
    yield "</p></div>"
    yield whole.result()


def _body(template: str, invocation: Invocation, words: list[str], **values: Any) -> str:
    found = _OFTEN_MISSING | asyncio.run(document_of(invocation, words))
    return render(template, found=found, **values)


def _with_lines(
    invocation: Invocation, problems: list[dict[str, Any]]
) -> Iterator[tuple[str, list[tuple[dict[str, Any], list[tuple[int, str]]]]]]:
    """Yield each file with its remarks, each of these with the lines around its first one."""
    files, left = RootedFiles(invocation.find_root()), _MOST_SHOWN
    for path, remarks in groupby(problems, key=lambda problem: problem["path"]):
        lines: list[str] = []
        with suppress(HostError):
            lines = split_lines(files.read_bytes(path).decode("utf-8", "replace"))
        shown = []
        for remark in remarks:
            first = max(0, remark["line"] - 1 - _AROUND)
            around = lines[first : remark["line"] + _AROUND] if left > 0 else []
            shown.append((remark, [*enumerate(around, first + 1)]))
            left -= 1
        yield path, shown
