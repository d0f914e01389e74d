"""The pages of a change that is not recorded: what `judge` says of it, and what it concerns."""

import asyncio
from collections.abc import Iterator
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
    return _judged(invocation, session, "--static")


async def judge_whole(invocation: Invocation, session: Session, request: Request) -> Response:
    """Return what the tests say of it, too. Only a form of our page may run code."""
    form = await read_form(session, request)
    return form if isinstance(form, Response) else _judged(invocation, session)


def impact_page(invocation: Invocation, request: Request) -> Response:
    """Return what a function, or without a name the change, concerns."""
    name = request.query_params.get("name", "").replace("\0", "").strip()
    words = ["hub", "impact", "--budget=8000", *(["--", name] if name else [])]
    body = partial(_body, "impact_body.html", invocation, words, titles=TITLES)
    return page_in_two_parts("impact.html", body, asked=name)


def _judged(invocation: Invocation, session: Session, *options: str) -> Response:
    body = partial(_body, "judge_body.html", invocation, ["judge", *options])
    lines = partial(_with_lines, invocation)
    values = {"with_lines": lines, "is_static": bool(options), "form_token": session.form_token}
    return page_in_two_parts("judge.html", partial(body, **values))


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
